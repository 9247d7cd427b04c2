"""Prompts and answers as the protocol writes them: pure functions of a protocol and a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..corpora.document import Document
from ..labels import LabelMap
from ..spans import Span
from .protocol import RESPONSE, Protocol, Shot


@dataclass(frozen=True, slots=True)
class Prompt:
    """system: what stands before the text to process, None where all is one user message."""

    user: str
    system: str | None = None

    @property
    def raw(self) -> str:
        """Both as one piece of text, for a model without chat template."""
        return self.user if self.system is None else f"{self.system}\n\n{self.user}"

    def messages(self) -> list[dict[str, str]]:
        """As chat APIs and chat templates take them."""
        system = [] if self.system is None else [{"role": "system", "content": self.system}]
        return [*system, {"role": "user", "content": self.user}]


def tagged(text: str, spans: Iterable[Span], tags: Mapping[str, str]) -> str:
    """The text with each span in its element, in `<response>`. tags: {label: tag}; spans of other labels are left out.

    Nested spans nest, the longer outside; of spans that cross each other's ends, tags close in the order they must.
    """
    marks: list[tuple[int, int, int, int, str]] = []
    for order, span in enumerate(sorted(spans, key=lambda s: (s.start, -s.end))):
        tag = tags.get(span.label)
        if tag is not None:  # at one place ends stand before starts; the inner ends first and starts last
            marks.append((span.start, 1, -span.end, order, f"<{tag}>"))
            marks.append((span.end, 0, -span.start, -order, f"</{tag}>"))
    pieces, last = [], 0
    for place, *_, mark in sorted(marks):
        pieces += [text[last:place], mark]
        last = place
    return f"<{RESPONSE}>{''.join(pieces)}{text[last:]}</{RESPONSE}>"


def shot_text(shot: Shot, tags: Mapping[str, str]) -> str:
    return f"Input:\n{shot.text}\n\nOutput:\n{tagged(shot.text, shot.spans, tags)}"


def prompt_of(protocol: Protocol, text: str, *, system_role: bool = False) -> Prompt:
    """The prompt for one text. system_role: everything before the template's last paragraph, which holds the text, is the
    system's."""
    template = protocol.few_shot if protocol.shots else protocol.zero_shot
    fixed = {
        "fewshot": "\n\n".join(shot_text(shot, protocol.tags) for shot in protocol.shots),
        "entities": ", ".join(f"{e.tag} ({e.description})" if e.description else e.tag for e in protocol.entities),
        "entity_list": ", ".join(f"<{entity.tag}>" for entity in protocol.entities),
        "text": text,
    }
    if not system_role:
        return Prompt(_filled(template, fixed))
    cut = template.rfind("\n\n", 0, template.rindex("{text}"))
    if cut < 0:
        return Prompt(_filled(template, fixed))
    return Prompt(_filled(template[cut + 2 :], fixed), _filled(template[:cut], fixed))


def _filled(template: str, values: Mapping[str, str]) -> str:
    """In one pass, so that braces in a text are a text's."""
    return re.sub(r"\{(fewshot|entities|entity_list|text)\}", lambda match: values[match[1]], template)


def gold_answers(documents: Iterable[Document], protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Perfect answers, as rows of an answers file: the gold of each document as the protocol writes it, by ordinal."""
    labels = LabelMap(protocol.label_table())
    for ordinal, document in enumerate(documents):
        spans = [Span(span.start, span.end, labels(span.label)) for span in document.gold_spans]
        yield {"document": ordinal, "answer": tagged(document.text, spans, protocol.tags)}
