"""The protocols as data, and the prompts and answers made from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmed_mlx_eval.corpora import load_corpus
from openmed_mlx_eval.errors import UsageError
from openmed_mlx_eval.generative.protocol import BENCHMARKS, Protocol, load_protocol
from openmed_mlx_eval.generative.rendering import prompt_of, tagged
from openmed_mlx_eval.labels import LabelMap
from openmed_mlx_eval.spans import Span

ANAT_EM = load_protocol("anat_em")


def test_the_shots_of_anat_em_are_the_first_five_sentences_of_train(shared) -> None:
    train = load_corpus(shared("corpora/anatem/train-first5.tsv"))
    labels = LabelMap(ANAT_EM.label_table())
    assert [shot.text for shot in ANAT_EM.shots] == [document.text for document in train]
    for shot, document in zip(ANAT_EM.shots, train, strict=True):
        assert shot.spans == tuple(Span(span.start, span.end, labels(span.label)) for span in document.gold_spans)


def test_the_templates_are_those_of_the_protocol_to_the_character(shared) -> None:
    described = shared("anatem-protocol.md").read_text("utf-8")
    zero, few = (part.split("\n```")[0] for part in described.split("template:\n\n```\n")[1:])
    assert (ANAT_EM.zero_shot, ANAT_EM.few_shot) == (zero + "\n", few + "\n")
    assert ANAT_EM.entities[0].description in described


def test_the_shortest_published_prompt_has_a_text_of_one_character() -> None:
    assert len(prompt_of(ANAT_EM, "x").user) == 2861  # the least of the published 2,861 to 3,652 characters


def test_a_prompt_is_the_template_filled_once() -> None:
    text = "in {entities} of {fewshot} \\1"
    prompt = prompt_of(ANAT_EM.with_shots(()), text)
    assert prompt.system is None
    assert prompt.user.endswith(f"Text to process:\n{text}\n")
    assert prompt.user.startswith("You are a named entity recognition system")
    assert "Available entity tags: <anatomy>\n" in prompt.user
    shown = prompt_of(ANAT_EM, "x").user
    assert (
        "Input:\nImmunostaining and confocal analysis\n\nOutput:\n<response>Immunostaining and confocal analysis</response>\n\nInput:\n"
        in shown
    )


def test_the_system_role_takes_all_but_the_text() -> None:
    prompt = prompt_of(ANAT_EM, "the lung", system_role=True)
    assert prompt.user == "Text to process:\nthe lung\n"
    assert prompt.system is not None and prompt.system.endswith("matching closing tag.")
    assert prompt.raw == prompt_of(ANAT_EM, "the lung").raw
    assert [message["role"] for message in prompt.messages()] == ["system", "user"]


@pytest.mark.parametrize("benchmark", [name for name in BENCHMARKS if name != "custom"])
def test_every_protocol_of_the_package_is_one(benchmark: str) -> None:
    protocol = load_protocol(benchmark)
    assert (protocol.name, protocol.shots_wanted) == (benchmark, 5)
    assert all(entity.description for entity in protocol.entities)
    assert protocol.labels == {tag: label for label, tag in protocol.tags.items()}


def test_gold_labels_meet_the_types_of_a_protocol() -> None:
    for benchmark, label, scored in (
        ("anat_em", "Multi-tissue_structure", "ANATOMY"),
        ("ncbi_disease", "CompositeMention", "DISEASE"),
        ("bc5cdr", "Chemical", "CHEMICAL"),
        ("bc5cdr", "disease", "DISEASE"),
    ):
        assert LabelMap(load_protocol(benchmark).label_table())(label) == scored


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.sampled_from(["ANATOMY", "CELL"])), max_size=4),
    st.just("abc defgh ijklm"),
)
def test_rendering_adds_tags_alone(pieces, text: str) -> None:
    spans = [Span(start, start + size, label) for start, size, label in pieces]
    shown = tagged(text, spans, {"ANATOMY": "anatomy", "CELL": "cell"})
    assert shown.count("<anatomy>") == shown.count("</anatomy>") == sum(span.label == "ANATOMY" for span in spans)
    for tag in ("response", "anatomy", "cell"):
        shown = shown.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    assert shown == text


def test_labels_outside_the_protocol_are_not_rendered() -> None:
    assert tagged("a b", [Span(0, 1, "NAME")], {"ANATOMY": "anatomy"}) == "<response>a b</response>"


GOOD = """
name = "mine"
[[entities]]
tag = "drug"
description = "Medicines"
corpus_labels = ["MEDICATION"]
[[entities]]
tag = "dose"
[[shots]]
tagged = "take <drug>aspirin</drug> <dose>5 mg</dose> daily"
"""


def custom(folder: Path, text: str) -> Protocol:
    path = folder / "mine.toml"
    path.write_text(text, "utf-8")
    return load_protocol("custom", file=path)


def test_a_protocol_of_ones_own(tmp_path: Path) -> None:
    protocol = custom(tmp_path, GOOD)
    assert protocol.labels == {"drug": "DRUG", "dose": "DOSE"}
    assert LabelMap(protocol.label_table())("medication") == "DRUG"
    assert protocol.shots[0].text == "take aspirin 5 mg daily"
    assert [protocol.shots[0].text[span.start : span.end] for span in protocol.shots[0].spans] == ["aspirin", "5 mg"]
    assert "drug (Medicines), dose\n" in prompt_of(protocol, "x").user
    assert load_protocol("custom", entities=["Drug = Medicines", "dose"]).tags == {"DRUG": "drug", "DOSE": "dose"}


BAD = {
    "not TOML": "name = ",
    "no entities": 'name = "x"',
    "a tag that is none": GOOD.replace('"drug"', '"dr ug"', 1),
    "the response itself": GOOD.replace('"drug"', '"response"', 1),
    "two of one tag": GOOD.replace('"dose"', '"drug"', 1),
    "entities no tables": 'name = "x"\nentities = 3',
    "labels no list": GOOD.replace('["MEDICATION"]', "3"),
    "no name": GOOD.replace('name = "mine"', ""),
    "another template": 'template = "other"\n' + GOOD,
    "a template without its places": GOOD + '[templates]\nzero_shot = "{text}"\nfew_shot = "{text}"\n',
    "templates no table": "templates = 3\n" + GOOD,
    "shots wanted no number": 'shots_wanted = "all"\n' + GOOD,
    "a shot without text": GOOD + "[[shots]]\n",
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_protocol_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as error:
        custom(tmp_path, BAD[name])
    assert "mine.toml" not in str(error.value) and "MEDICATION" not in str(error.value)


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    for arguments in (
        {"benchmark": "other"},
        {"benchmark": "custom"},
        {"benchmark": "custom", "entities": ["a"], "file": tmp_path},
        {"benchmark": "anat_em", "entities": ["a"]},
        {"benchmark": "custom", "file": tmp_path / "none.toml"},
    ):
        with pytest.raises(UsageError):
            load_protocol(**arguments)
