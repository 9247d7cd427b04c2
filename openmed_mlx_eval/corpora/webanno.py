"""WebAnno and INCEpTION TSV 3: a file is a document, sentences as `#Text=` lines over a row for each token.

Gold is every span layer but those of morphology and syntax; the label is the layer's feature `value`, else the first that
is set and no `identifier`, else the layer's own name. Chains, relations and slots are read past. Offsets count UTF-16 code units, or
what the tokens show. What lies between sentences is not in the file and becomes line breaks.
Format: https://inception-project.github.io/releases/latest/docs/user-guide.html (WebAnno TSV 3.3)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .blocks import Block, laid_out
from .draft import Draft, Fault, Made, Mention, attempt
from .source import Source, text_of
from .surface import agrees
from .units import CODE_POINTS, UTF16

HEADER = "#FORMAT=WebAnno TSV 3"

_DKPRO, _ENTITIES = "de.tudarmstadt.ukp.dkpro.core.api.", "de.tudarmstadt.ukp.dkpro.core.api.ner."
_TEXT = "#Text="
_ROW = re.compile(r"\d+-\d+(?:\.\d+)*\t(\d{1,12})-(\d{1,12})\t([^\t]*)\t?(.*)", re.ASCII | re.DOTALL)
_STACKED = re.compile(r"(?:\\.|[^|\\])+", re.DOTALL)
_NUMBERED = re.compile(r"((?:\\.|[^\\])*?)\[(\d{1,9})\]", re.ASCII | re.DOTALL)
_ESCAPED = re.compile(r"(?:\\.|[^\\\[\]])*", re.DOTALL)
_SLOT = "ROLE_"
_CUT = "was its copy cut short? Export it anew"
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "b": "\b"}


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer's columns: where they begin, what each is, the layer's short name, whether its spans are gold."""

    column: int
    features: tuple[str, ...]
    name: str
    is_gold: bool

    def columns(self) -> list[tuple[str, int]]:
        """(feature, column). A slot has two, of which the second names its targets and not this layer's spans."""
        numbered = zip(("", *self.features), self.features, range(self.column, self.column + len(self.features)), strict=False)
        return [(feature, column) for before, feature, column in numbered if not before.startswith(_SLOT)]


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    surface: str
    cells: tuple[str, ...]
    line: int


def read(source: Source) -> Iterator[Made]:
    """The one document of a file."""
    yield attempt(_draft, source)


def _draft(source: Source) -> Draft:
    lines = [line.removesuffix("\r") for line in text_of(source.data or b"").split("\n")]
    if not lines[0].startswith(HEADER):
        raise Fault("the first line does not name the format", f"it is {HEADER}.x in a file of this format", line=1)
    layers = _layers(lines)
    blocks, tokens = _sentences(lines, sum(len(layer.features) for layer in layers))
    surfaces = [Mention("token", ((token.start, token.end),), token.surface, token.line) for token in tokens]
    spans = [mention for layer in layers if layer.is_gold for mention in _spans(layer, tokens)]
    text, found, _ = laid_out(blocks, [*surfaces, *spans], (UTF16, CODE_POINTS))
    for token in found[: len(tokens)]:
        if not agrees(text, token):
            raise Fault("a token that is not the text at its offsets", "are the offsets those of the sentence?", line=token.line)
    last = max(found[: len(tokens)], key=lambda token: token.pieces[0][1])
    if text[last.pieces[0][1] :].strip():
        raise Fault("the last sentence goes on after its last token", _CUT, line=last.line)
    return Draft(source.stem or None, text, found[len(tokens) :])


def _layers(lines: Sequence[str]) -> list[_Layer]:
    layers: list[_Layer] = []
    for line in lines:
        kind, _, rest = line.partition("=")
        if kind in ("#T_SP", "#T_CH", "#T_RL"):
            name, *features = rest.split("|")
            is_gold = kind == "#T_SP" and (name.startswith(_ENTITIES) or not name.startswith(_DKPRO))
            column = layers[-1].column + len(layers[-1].features) if layers else 0
            layers.append(_Layer(column, tuple(features) or ("",), name.rpartition(".")[2], is_gold))
        elif line.startswith(_TEXT):
            break
    return layers


def _sentences(lines: Sequence[str], width: int) -> tuple[list[Block], list[_Token]]:
    """Each sentence's text, from where its first token begins, and all tokens.

    Raises Fault for a line of no kind, and for what shows that the file was cut short. Between two sentences nothing does.
    """
    blocks: list[Block] = []
    tokens: list[_Token] = []
    waiting: list[str] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith(_TEXT):
            waiting.append(line[len(_TEXT) :])
        elif match := _ROW.fullmatch(line):
            token = _token(match, width, number)
            if waiting:
                text = "\n".join(map(unescaped, waiting))
                before = len(text) - len(text.lstrip())
                blocks.append(Block(token.start - before, text, line=number))
                waiting = []
            tokens.append(token)
        elif waiting and not line.strip():
            raise Fault("a sentence without tokens", _CUT, line=number - 1)
        elif line.strip() and not line.startswith("#"):
            raise Fault("a line that is neither a token nor a comment", "write 1-1<tab>0-5<tab>token<tab>columns", line=number)
    if not blocks:
        what, remedy = ("no #Text= line", "a sentence's text stands over its tokens") if tokens else ("no sentence", _CUT)
        raise Fault(what, remedy, line=len(lines))
    if lines[-1] and lines[-1].count("\t") < lines[tokens[0].line - 1].count("\t"):
        raise Fault("the last line has fewer tabs than the first row", _CUT, line=len(lines))
    if waiting:
        raise Fault("a sentence without tokens", _CUT, line=len(lines))
    return blocks, tokens


def _token(match: re.Match[str], width: int, line: int) -> _Token:
    cells = match[4].split("\t") if match[4] else []
    cells = cells[:-1] if len(cells) == width + 1 and not cells[-1] else cells
    if len(cells) != width:
        what = f"{len(cells)} columns of annotation, where the layers have {width}"
        raise Fault(what, "part columns by one tab, and let the file's head name each layer", line=line)
    return _Token(int(match[1]), int(match[2]), unescaped(match[3]), tuple(cells), line)


def _spans(layer: _Layer, tokens: Sequence[_Token]) -> list[Mention]:
    """A layer's spans by their first token. Tokens whose values bear one number are one span."""
    bounds: dict[tuple[int, int], list[int]] = {}
    values: dict[tuple[int, int], dict[str, str]] = {}
    places: dict[tuple[int, int], int] = {}
    for row, token in enumerate(tokens):
        for feature, column in layer.columns():
            for place, said in enumerate(_STACKED.findall(token.cells[column]) if token.cells[column] != "_" else ()):
                match = _NUMBERED.fullmatch(said)
                value, key = (match[1], (-1, int(match[2]))) if match else (said, (row, place))
                span = bounds.setdefault(key, [token.start, token.end])
                span[:] = min(span[0], token.start), max(span[1], token.end)
                places.setdefault(key, token.line)
                if value not in ("*", "_", "") and feature != "identifier" and not feature.startswith(_SLOT):
                    values.setdefault(key, {}).setdefault(feature, value)
    return [
        Mention(_label(layer, values.get(key, {}), places[key]), ((start, end),), line=places[key])
        for key, (start, end) in bounds.items()
    ]


def _label(layer: _Layer, values: dict[str, str], line: int) -> str:
    value = values.get("value") or next(iter(values.values()), "")
    if not _ESCAPED.fullmatch(value):
        raise Fault("a value with a bracket that is neither escaped nor a number's", r"write \[ and \]", line=line)
    return unescaped(value) or layer.name or "ENTITY"


def unescaped(text: str) -> str:
    r"""A value without its backslashes: `\_` is `_`, `\n` a line break."""
    return re.sub(r"\\(.)", lambda match: _CONTROLS.get(match[1], match[1]), text) if "\\" in text else text
