"""PubTator records: offsets over title and abstract, records with and without mentions."""

from __future__ import annotations

import pytest
from corpus_files import CANARY, gold, load

from openmed_mlx_eval.errors import InputError


def test_the_abstract_starts_one_after_the_title() -> None:
    content = "7|t|Lung tumor\n7|a|Rats had it.\n7\t0\t4\tLung\tOrgan\tD1|D2\n7\t11\t15\tRats\tSpecies\t10116,10117\n"
    corpus = load(content, "pubtator")
    assert corpus.documents[0].text == "Lung tumor\nRats had it."
    assert corpus.documents[0].id == "7"
    assert gold(corpus) == [[(0, 4, "Organ"), (11, 15, "Species")]]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_records_of_two_lines_relations_and_composite_mentions(end: str) -> None:
    lines = ["", "1|t|A b", "1|a|", "", "", "2|t|C d", "2|a|e | f|a|g", "2\tCID\tD1\tD2", "2\t0\t1\tC\tX\tD1|D2\tC|C", "",
             "3|t|only", "4|t|next", "4|a|x"]  # fmt: skip
    corpus = load("\ufeff" + end.join(lines), "pubtator")
    assert [document.text for document in corpus] == ["A b\n", "C d\ne | f|a|g", "only", "next\nx"]
    assert gold(corpus) == [[], [(0, 1, "X")], [], []]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"1\t0\t{CANARY}\tA\tX", "line 3: a line that is neither"),
        ("1\t0\t1", "line 3: a line that is neither"),
        ("1\t0\t1\tA", "line 3: a line that is neither"),
        ("1\t0.0\t1.0\tA\tX", "line 3: a line that is neither"),
        (f"{CANARY}\t0\t1\tA\tX", "line 3: a line with another id"),
        (f"1|a|{CANARY}", "line 3: a second title or abstract"),
        (CANARY, "line 3: a line with another id"),
        ("1\t0\t1\tZ\tX", "line 3, span 1, offsets 0–1: the text at the offsets"),
        ("1\t0\t99\tA\tX", "line 3, span 1, offsets 0–99: span past the end"),
    ],
)
def test_bad_records(line: str, says: str) -> None:
    content = f"1|t|A b\n1|a|{CANARY}\n{line}\n\n2|t|good\n2|a|x\n"
    with pytest.raises(InputError) as error:
        load(content, "pubtator")
    assert says in str(error.value)
    assert CANARY not in str(error.value)
    assert [document.id for document in load(content, "pubtator", skip_bad=True)] == ["2"]


def test_a_record_without_title() -> None:
    with pytest.raises(InputError, match="document 1, line 1: a record without title"):
        load("1|a|x\n", "pubtator")


def test_a_file_cut_within_an_abstract_or_a_mention_is_not_a_document_of_fewer_spans() -> None:
    records = [f"{n}|t|Lung tumor\n{n}|a|Rats had it.\n{n}\t11\t15\tRats\tSpecies\t10116\n" for n in range(1, 5)]
    content = "\n".join(records)
    fourth = len(content) - len(records[3])
    cut = [fourth + records[3].index(within) for within in ("umor", "had", "ies\t")]
    for place, says in zip(
        cut, ("line 13: the file ends within a text", "line 14: the file ends within a text", "line 15: .*mention"), strict=True
    ):
        with pytest.raises(InputError, match=says + ".* – was its copy cut short"):
            load(content[:place], "pubtator")
        assert len(load(content[:place], "pubtator", skip_bad=True)) == 3
    assert len(load(content[: cut[1]] + "\n", "pubtator")) == 4  # what ends with a line end is whole
    assert len(load(content.rstrip("\n"), "pubtator")) == 4
    unannotated = records[0].replace("\n1\t11\t15\tRats\tSpecies\t10116\n", "\n").replace("1|", "9|")
    assert len(load(content[:fourth] + unannotated + "\n" + content[fourth : cut[1]], "pubtator")) == 5
