"""The real mlx-lm path on the smallest language model: what is shared, batched and sampled changes no answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.errors import ModelError
from openmed_mlx_eval.generative.language_model import Job, LanguageModel, _Writing, shared_prefix
from openmed_mlx_eval.generative.rendering import Prompt


@pytest.fixture(scope="module")
def model(shared) -> LanguageModel:
    pytest.importorskip("mlx_lm")
    return LanguageModel.load(shared("models/stories260k"))


def jobs(model: LanguageModel, limit: int = 12) -> list[Job]:
    texts = ("Once upon a time, there was a dog", "Once upon a time, there was a little cat", "Once upon a time, Tim")
    return [Job(number, model.encode(Prompt(text), raw=True), limit) for number, text in enumerate(texts)]


def texts(model: LanguageModel, batches, prefix, **more) -> dict[int, str]:
    return {ordinal: answer.text for made in model.answers(batches, prefix, **more) for ordinal, answer in made}


def test_a_prompt_computed_once_and_batches_change_no_answer(model: LanguageModel) -> None:
    all_jobs = jobs(model)
    prefix = shared_prefix([job.ids for job in all_jobs])
    assert len(prefix) > 5
    alone = texts(model, [[job] for job in all_jobs], [])
    assert len(set(alone.values())) == 3 and all(alone.values())
    assert texts(model, [[job] for job in all_jobs], prefix) == alone
    assert texts(model, [all_jobs], prefix) == alone


def test_sampling_is_seeded_by_batch(model: LanguageModel) -> None:
    batches = [[job] for job in jobs(model)]
    one = texts(model, batches, [], temperature=2.0, seed=5)
    assert texts(model, batches, [], temperature=2.0, seed=5) == one
    assert texts(model, batches, [], temperature=2.0, seed=6) != one
    assert texts(model, batches, [], temperature=2.0, seed=5, wanted=lambda batch: batch == 2) == {2: one[2]}


def test_what_an_answer_cost_is_counted(model: LanguageModel) -> None:
    counted = []
    all_jobs = jobs(model)
    ((first, *_),) = model.answers(
        [all_jobs], shared_prefix([job.ids for job in all_jobs]), advance=lambda *done: counted.append(done)
    )
    ordinal, answer = first
    assert (ordinal, answer.prompt_tokens, answer.tokens, answer.cut) == (0, len(all_jobs[0].ids), 12, True)
    assert answer.first_token_s > 0 and answer.seconds > 0
    assert counted == [(1, 12)] * 3


def test_the_block_says_what_the_model_is(model: LanguageModel) -> None:
    block = model.block()
    assert (block["name"], block["family"], block["parameters"], block["dtype"]) == ("stories260k", "llama", 260_032, "float32")
    assert sorted(block["files"]) == ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


class Letters:
    """A tokenizer whose tokens are characters."""

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))


@pytest.mark.parametrize(
    ("begun", "text", "used"),
    [
        ("", "<response>x</response> and so on", 22),
        ("", "<think><response></response></think><response>x</response> more", 58),
        ("<think>", "<response></response></think><response>x</response> more", 51),
        ("", "no end in sight", 15),
    ],
)
def test_writing_stops_where_the_response_is_closed(begun: str, text: str, used: int) -> None:
    writing = _Writing(Letters(), Job(0, [1, 2], 100), begun)
    written = 0
    for written, character in enumerate(text, start=1):
        if writing.add(ord(character), written / 10):
            break
    answer = writing.answer(2.0)
    assert (written, answer.text) == (used, begun + text[:used])
    assert (answer.first_token_s, answer.seconds, answer.tokens, answer.cut) == (0.1, 2.0, used, False)


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), max_size=5))
def test_the_shared_prefix_is_what_all_begin_with_and_none_ends_with(prompts: list[list[int]]) -> None:
    prefix = shared_prefix(prompts)
    assert all(prompt[: len(prefix)] == prefix and len(prefix) < len(prompt) for prompt in prompts)
    if prompts and all(len(prompt) > len(prefix) + 1 for prompt in prompts):
        assert len({prompt[len(prefix)] for prompt in prompts}) > 1


def with_template(shared, folder: Path, template: str) -> LanguageModel:
    for path in shared("models/stories260k").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": template}), "utf-8")
    return LanguageModel.load(folder)


def test_the_models_chat_template_is_used(shared, tmp_path: Path) -> None:
    pytest.importorskip("mlx_lm")
    model = with_template(shared, tmp_path, "{% for m in messages %}[{{ m.role }}] {{ m.content }} {% endfor %}<think>")
    assert model.has_template
    ids = model.encode(Prompt("the text", "the rules"), raw=False)
    assert model.tokenizer.decode(ids).strip().endswith("[system] the rules [user] the text <think>")
    assert model._begun(Job(0, ids, 1)) == "<think>"
    assert model.encode(Prompt("the text"), raw=True) != model.encode(Prompt("the text"), raw=False)


def test_a_template_that_fails_is_named_without_the_prompt(shared, tmp_path: Path) -> None:
    pytest.importorskip("mlx_lm")
    model = with_template(shared, tmp_path, "{{ raise_exception(messages[0].content) }}")
    with pytest.raises(ModelError, match="chat template failed") as error:
        model.encode(Prompt("the text"), raw=False)
    assert "the text" not in str(error.value)
