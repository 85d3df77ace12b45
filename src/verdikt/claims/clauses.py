"""The parts of a sentence that may claim something by themselves. Pure."""

import itertools
from dataclasses import replace

from verdikt.claims.cues import get_classes
from verdikt.claims.sentences import MarkedSentence
from verdikt.model.lazy_regex import compile_lazily

_BREAK = compile_lazily(r"[,;:—–，、；：]\s*|\s-\s|\s?[(（]")
_CONJUNCTION = compile_lazily(r"\s(?:and|then|while|und|sowie|et|puis|y|e|и)\s|(?<=[고며])\s|而且|并且|同时")
_WORD = compile_lazily(r"[^\W\d_]+")
_EDGES = " \t\n,;(（，、；"


def list_clauses(sentence: MarkedSentence, *, has_conjunctions: bool = False) -> list[MarkedSentence]:
    """Return the parts of a sentence between commas and words like `but`, on request also at words like `and`."""
    text, classes = sentence.masked, get_classes(sentence.language)
    cuts = [0, len(text), *(match.end() for match in _BREAK.finditer(text))]
    cuts += [match.start() for match in _WORD.finditer(text) if classes.get(match[0].lower()) == "BUT"]
    cuts += [match.start() for match in _CONJUNCTION.finditer(text) if has_conjunctions]
    spans = itertools.pairwise(sorted(cuts))
    return [_cut_clause(sentence, start, end) for start, end in spans if text[start:end].strip(_EDGES)]


def _cut_clause(sentence: MarkedSentence, start: int, end: int) -> MarkedSentence:
    # Masking keeps positions, so the text is cut at the same places.
    part, masked = sentence.text[start:end], sentence.masked[start:end].strip()
    text = part.strip(_EDGES)
    first = sentence.start + start + part.index(text)
    return replace(sentence, start=first, end=first + len(text), text=text, masked=masked)
