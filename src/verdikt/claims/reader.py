"""Read what a message claims, sentence by sentence, with the trained model. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from verdikt.claims.clauses import list_clauses
from verdikt.claims.features import denies_change, list_words, shows_change
from verdikt.claims.model import ACTS, TOPICS, ClaimModel, load_model
from verdikt.claims.named_objects import find_file_names, find_spans
from verdikt.claims.sentences import MarkedSentence, split_sentences
from verdikt.model.lazy_regex import compile_lazily

COMMAND_TOPICS = frozenset({"commit", "push", "release", "deploy", "install"})
"""What one command does: a sentence may report it in a few words beside much else."""

_EFFECT_TOPICS = COMMAND_TOPICS | {"file_operation"}
_FILE_TOPICS = frozenset({"change", "file_operation"})
CHECK_TOPICS = frozenset({"tests", "build", "lint", "types"})


_CROSS = compile_lazily("[❌✗✘]")
_TICK = compile_lazily("[✅✔☑✓]")
"""`Tests: ❌ 31/48` says that they fail, whatever stands beside the mark."""


@dataclass(frozen=True, slots=True)
class SentenceClaim:
    """What one sentence claims, with its place in the message; a sentence with two acts is there twice.

    `act` is done, blocked, delegation, admission or none. `score` is the confidence in the strongest act, from 0 to 1;
    where the act is none it is low, and lowest in a language that the model does not know.
    """

    text: str
    start: int
    end: int
    act: str
    topics: tuple[str, ...]
    score: float = 1.0


def is_known_language(message: str) -> bool:
    """Return whether a message is in a language that the model was trained on; a few words always are."""
    return load_model().knows_words(word for part in split_sentences(message) for word in list_words(part.masked))


def read_claims(message: str) -> tuple[SentenceClaim, ...]:
    """Return what each sentence of a message claims, in order. Never raises, whatever the text."""
    model = load_model()
    sentences = split_sentences(message)
    scores = model.score_message(sentences)
    return tuple(
        claim
        for sentence, margins in zip(sentences, scores, strict=True)
        for claim in _read_sentence(model, message, sentence, margins)
    )


def _read_sentence(
    model: ClaimModel, message: str, sentence: MarkedSentence, margins: dict[str, float]
) -> list[SentenceClaim]:
    is_known = model.knows_words(list_words(sentence.masked))
    if margins["done"] > 0 and _CROSS.search(sentence.masked) and not _TICK.search(sentence.masked):
        margins = {**margins, "done": -margins["done"], "admission": margins["done"]}
    acts = sorted((act for act in ACTS if margins[act] > 0), key=lambda act: -margins[act]) if is_known else []
    topics = dict.fromkeys(acts, model.list_topics(sentence)) if acts else {}
    if len(acts) > 1:
        topics = _divide_topics(model, sentence, acts, topics[acts[0]])
    changes: list[SentenceClaim] = []
    if acts == ["done"]:
        clauses = read_clauses(model, sentence)
        topics["done"] = add_clause_topics(drop_denied_change(model, sentence, topics["done"]), clauses)
        changes = [
            SentenceClaim(clause.text, clause.start, clause.end, "done", names, _to_confidence(margin))
            for clause, names, margin in clauses
            if names and _FILE_TOPICS.issuperset(names) and _is_change_apart(clause, topics["done"])
        ]
    text = message[sentence.start : sentence.end]
    if not acts:
        score = _to_confidence(min(max(margins.values()), 0.0)) if is_known else 0.0
        return [SentenceClaim(text, sentence.start, sentence.end, "none", (), score)]
    claims = [
        SentenceClaim(text, sentence.start, sentence.end, act, topics[act], _to_confidence(margins[act]))
        for act in acts
    ]
    return claims + changes


def _to_confidence(margin: float) -> float:
    """Return a margin as a number from 0 to 1; rounded, so that no platform's `exp` shows in a record."""
    return round(1 / (1 + math.exp(-3 * max(-20.0, min(20.0, margin)))), 4)


def _divide_topics(
    model: ClaimModel, sentence: MarkedSentence, acts: list[str], topics: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Return the topics of each act of a sentence with several: `I fixed it` is done, `but tests are red` admitted."""
    found: dict[str, set[str]] = {act: set() for act in acts}
    for clause in list_clauses(sentence):
        margins = model.score_clause(clause)
        found[max(acts, key=margins.__getitem__)].update(model.list_topics(clause))
    # An act whose clause names no topic is about those of the whole sentence.
    return {act: tuple(name for name in TOPICS if name in found[act]) or topics for act in acts}


def drop_denied_change(model: ClaimModel, sentence: MarkedSentence, topics: tuple[str, ...]) -> tuple[str, ...]:
    """Return the topics of a sentence about a check without the change that only a part of it names, and denies.

    `The tests pass, the log is quiet and no snapshot changed` is read as if it ended before `and`.
    """
    if "change" not in topics:
        return topics
    clauses = list_clauses(sentence, has_conjunctions=True)
    said = [clause for clause in clauses if not denies_change(clause)]
    if not said or len(said) == len(clauses):
        return topics
    rest = model.list_topics(replace(sentence, text=", ".join(clause.text for clause in said)))
    if "change" in rest or CHECK_TOPICS.isdisjoint(rest):
        return topics
    return tuple(name for name in topics if name != "change") or rest


ReadClause = tuple[MarkedSentence, tuple[str, ...], float]
"""A part of a sentence that claims work by itself, with its topics and its margin."""


def read_clauses(model: ClaimModel, sentence: MarkedSentence) -> list[ReadClause]:
    """Return the parts of a sentence that claim something: `it takes a percentage now`, `and the tests are green`."""
    clauses = list_clauses(sentence, has_conjunctions=True)
    scored = [(clause, model.score_clause(clause)["done"]) for clause in clauses if len(clauses) > 1]
    return [(clause, model.list_topics(clause), margin) for clause, margin in scored if margin > 0]


def add_clause_topics(known: tuple[str, ...], clauses: Sequence[ReadClause]) -> tuple[str, ...]:
    """Return the topics of a sentence with those that only a part of it has: `fixed it, and it is committed`."""
    named = {
        name
        for _, names, _ in clauses
        for name in names
        if not known or name in COMMAND_TOPICS or CHECK_TOPICS.issuperset(names)
    }
    return known + tuple(name for name in TOPICS if name in named.difference(known))


def _is_change_apart(clause: MarkedSentence, topics: tuple[str, ...]) -> bool:
    """Return whether a part of a sentence reports a change that the topics of the whole sentence do not prove.

    Beside a command, what names no code may be its effect: `deployed, the health check returns 200`.
    """
    names_code = bool(find_file_names(clause.text) or find_spans(clause.text))
    if _EFFECT_TOPICS.intersection(topics):
        return names_code
    return "change" not in topics and (names_code or shows_change(clause))
