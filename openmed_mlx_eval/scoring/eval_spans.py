"""EvalSpan, the span record of OpenMed's metrics, and its making from whatever form a user holds a span in.

Labels of every form go through the label map, an EvalSpan's too (OpenMed leaves those untouched, so that the
same span in two forms does not match itself). No message holds a span.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any

from ..errors import InputError
from ..labels import LabelMap
from ..labels.critical import METADATA_KEYS
from ..spans import Span

_LABEL_KEYS = ("canonical_label", "label", "entity_type", "entity_group", "entity")
_CONFIDENCE_KEYS = ("confidence", "score", "probability")
_LANGUAGE_KEYS = ("language", "lang")
_DEVICE_KEYS = ("device", "device_tier", "hardware_backend")


@dataclass(frozen=True)
class EvalSpan:
    """A span as OpenMed's metrics take it: half-open code points, label, surface, language, device, metadata."""

    start: int
    end: int
    label: str
    text: str = ""
    language: str = "en"
    device: str = "cpu"
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def length(self) -> int:
        return max(self.end - self.start, 0)


def normalize_eval_spans(
    spans: Iterable[Any],
    *,
    default_language: str = "en",
    default_device: str = "cpu",
    source_text: str | None = None,
    label_map: LabelMap | Mapping[str, str] | None = None,
) -> list[EvalSpan]:
    """Mappings, Span, EvalSpan or objects with such attributes as EvalSpan, labels through the label map.

    Raises InputError, which names the span by its ordinal, where start or end is no number or there is no
    label. A number that is no offset stays: a prediction of that kind is counted as invalid, gold refused.
    """
    if not isinstance(spans, Iterable):
        raise InputError("spans", f"{type(spans).__name__} is no list of spans", remedy="give an empty list where there are none")
    names = LabelMap.of(label_map)
    return [
        _normalized(span, ordinal, names, default_language, default_device, source_text)
        for ordinal, span in enumerate(spans, start=1)
    ]


def _normalized(span: Any, ordinal: int, names: LabelMap, language: str, device: str, source_text: str | None) -> EvalSpan:
    data = _fields(span)
    given = data.get("metadata")
    metadata: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {} if given is None else {"value": given}
    confidence = _first(data, _CONFIDENCE_KEYS)
    if confidence is not None:
        metadata.setdefault("confidence", confidence)
    for key in METADATA_KEYS:
        if data.get(key) is not None:
            metadata.setdefault(key, data[key])
    label = next((data[key] for key in _LABEL_KEYS if data.get(key)), None)
    if not isinstance(label, str):
        raise InputError("spans", "a span has no label", span=ordinal, remedy="give it a `label`")
    start, end = data.get("start"), data.get("end")
    for offset in (start, end):
        if isinstance(offset, (bool, str)) or not hasattr(offset, "__float__"):
            raise InputError("spans", "start and end must be whole numbers", span=ordinal, remedy="give code point offsets")
    text = data.get("text")
    if text is None and source_text is not None:
        within = isinstance(start, int) and isinstance(end, int) and 0 <= start <= end <= len(source_text)
        text = source_text[start:end] if within else ""
    return EvalSpan(
        start=start,  # type: ignore[arg-type]
        end=end,  # type: ignore[arg-type]
        label=names(label),
        text=str(text or ""),
        language=str(_first(data, _LANGUAGE_KEYS) or _first(metadata, _LANGUAGE_KEYS) or language),
        device=str(_first(data, _DEVICE_KEYS[:1]) or _first(metadata, _DEVICE_KEYS) or device),
        metadata=metadata,
    )


def _fields(span: Any) -> Mapping[str, Any]:
    if isinstance(span, Mapping):
        return span
    wanted = ("start", "end", "text", "metadata", *_LABEL_KEYS, *_CONFIDENCE_KEYS, *_LANGUAGE_KEYS, *_DEVICE_KEYS)
    return {key: getattr(span, key, None) for key in (*wanted, *METADATA_KEYS)}


def _first(data: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((data[key] for key in keys if data.get(key) is not None), None)


def as_spans(spans: Iterable[EvalSpan]) -> list[Span]:
    """For scoring: the confidence is the metadata's."""
    return [Span(span.start, span.end, span.label, span.metadata.get("confidence")) for span in spans]


def reach_of(spans: Iterable[EvalSpan]) -> int:
    """The largest end that is a whole number: the least length of the text that is not given."""
    return max((index(span.end) for span in spans if hasattr(span.end, "__index__")), default=0)
