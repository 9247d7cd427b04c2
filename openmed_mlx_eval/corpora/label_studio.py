"""Label Studio: JSON exports of text spans, whole (`data`, `annotations`) or JSON_MIN (the task's keys and its spans).

A task's gold is its annotation that is marked as ground truth, else its only one. A task that was skipped, or has no
annotation, is read past and counted. Choices, relations and predictions are read past. Offsets count UTF-16 code units,
which the regions' own texts show. Format: https://labelstud.io/guide/export
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from .draft import Draft, Fault, Made, Mention, Note, attempt
from .json_fields import IDS, LANGUAGES, id_in, language_in, list_in, mention_of, metadata_in, object_of, text_in
from .json_rows import values_of
from .source import Source

ANNOTATIONS = ("annotations", "completions")
"""The second is what exports before 1.0 call it."""

TEXT = "text"
_MINIMAL = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time")
_SHAPE = 'write a list of tasks: [{"data": {"text": "…"}, "annotations": [{"result": [regions]}]}]'
_REMEDY = "mark one as ground truth, or export one annotator's"


def read(source: Source) -> Iterator[Made]:
    """The annotated tasks of one export. Raises Fault where the file as a whole is no list of them."""
    values = list(values_of(source, _SHAPE))
    key = _text_key([value[0] for value in values if not isinstance(value, Fault)])
    for value in values:
        yield value if isinstance(value, Fault) else attempt(_draft, *value, key)


def _text_key(tasks: list[Any]) -> str:
    """Where the tasks have their text: under TEXT, or under that key whose string is in most tasks the longest.

    The labelling configuration names it, which an export does not hold.
    """
    longest: Counter[str] = Counter()
    for task in tasks:
        data = task.get("data", task) if isinstance(task, dict) else None
        strings = {key: value for key, value in data.items() if isinstance(value, str)} if isinstance(data, dict) else {}
        if TEXT in strings:
            return TEXT
        longest.update([max(strings, key=lambda key: len(strings[key]))] if strings else [])
    return longest.most_common(1)[0][0] if longest else TEXT


def _draft(value: Any, line: int | None, key: str) -> Draft | Note:
    row = object_of(value, line, _SHAPE)
    if "data" not in row:
        return _minimal(row, line, key)
    data = object_of(row["data"], line, _SHAPE)
    annotations = [one for one in list_in(row, ANNOTATIONS, line, "the annotations") if isinstance(one, dict)]
    made = [one for one in annotations if not one.get("was_cancelled") and not one.get("skipped")]
    made = [one for one in made if one.get("ground_truth")] or made
    if not made:
        return Note("not_accepted")
    if len(made) > 1:
        raise Fault(f"a task with {len(made)} annotations, none of them or several the ground truth", _REMEDY, line=line)
    regions = list_in(made[0], ("result",), line, "the annotation's result")
    mentions = _mentions([_region(region) for region in regions], line)
    return Draft(id_in(row, line), _text(data, line, key), mentions, language_in(data, line), _metadata(data, key), line)


def _minimal(row: Mapping[str, Any], line: int | None, key: str) -> Draft:
    """A task of JSON_MIN: the spans stand under the name of the labelling control, which may be any."""
    lists = [value for value in row.values() if isinstance(value, list)]
    spans = [one for value in lists for one in value if isinstance(one, dict) and "labels" in one]
    if not spans and not row.keys() & set(_MINIMAL):
        what = "neither a task with data and annotations nor one of JSON_MIN with spans or an annotator"
        raise Fault(what, "export it as JSON; if it is another tool's, give its --format", line=line)
    own = {name: value for name, value in row.items() if name not in _MINIMAL}
    text = _text(row, line, key)
    return Draft(id_in(row, line), text, _mentions(spans, line), language_in(row, line), _metadata(own, key), line)


def _metadata(data: Mapping[str, Any], text_key: str) -> dict[str, Any]:
    return metadata_in(data, {*IDS, *LANGUAGES, text_key})


def _text(row: Mapping[str, Any], line: int | None, key: str) -> str:
    # The key may be one of the file's own words, and no message repeats those.
    return text_in({TEXT: row.get(key)}, line, (TEXT,))


def _region(region: Any) -> Any:
    """The value of a region of labels, None for a choice, a relation or a rating."""
    kind = region.get("type") if isinstance(region, dict) else "labels"
    if not isinstance(kind, str) or kind not in ("labels", "hypertextlabels", "paragraphlabels"):
        return None
    value = region.get("value") if isinstance(region, dict) else region
    if isinstance(value, dict) and kind != "labels":
        # HyperText counts within its elements; globalOffsets, where they are there, within the whole text.
        offsets = value.get("globalOffsets")
        return {**value, **(offsets if isinstance(offsets, dict) else {}), "labels": value.get(kind)}
    return value if isinstance(value, dict) else []


def _mentions(regions: list[Any], line: int | None) -> tuple[Mention, ...]:
    """A mention for each label of each region; one without a label is not yet an annotation, and a Fault."""
    mentions: list[Mention] = []
    for number, region in enumerate((one for one in regions if one is not None), start=1):
        labels = region.get("labels") if isinstance(region, dict) else None
        if not isinstance(labels, list) or not labels:
            remedy = 'write {"value": {"start": 0, "end": 5, "text": "…", "labels": ["NAME"]}}'
            raise Fault("a region without a list of labels", remedy, line=line, span=number)
        mentions += [mention_of({**region, "label": label}, number, line) for label in labels]
    return tuple(mentions)
