"""The model that tells what a sentence claims: linear, over hashed features, trained by `tools/train_claims.py`. Pure.

The same sentence gives the same answer on every machine: the weights are whole numbers, and only sums and one square
root are taken of them. `get_model_digest` names the weights, for the record of a decision.
"""

import json
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

from verdikt.claims.features import list_features, list_message_features, list_topic_features
from verdikt.claims.sentences import MarkedSentence
from verdikt.model.lazy_regex import compile_lazily

ACTS = ("done", "blocked", "delegation", "admission")
TOPICS = (
    "change",
    "tests",
    "build",
    "lint",
    "types",
    "commit",
    "push",
    "release",
    "deploy",
    "install",
    "file_operation",
)
WEIGHTS = Path(__file__).with_name("weights.bin")
MAGIC = b"verdikt claims 2\n"

_LEAST_WORDS = 4
"""A sentence of fewer words is not taken for one of an unknown language."""

_LAST_LATIN = "\u024f"
_KNOWN_SCRIPT = compile_lazily("[а-яё]+|[\u3040-\u30ff\u3400-\u9fff]+|[\uac00-\ud7a3]+")
"""Words of the languages that alone have their script here: Russian without the letters of its neighbours, Japanese and
Chinese, Korean. In Latin script the vocabulary tells the languages apart."""

_CONTEXT_SHARE = 0.3
_CONTEXT_LIMIT = 2.0
_CERTAIN_MARGIN = 0.7
"""What the mean of the other sentences counts in a claim of work: findings and reports seldom stand in one message.

A claim that is certain by itself stays one, so that no text around it hides it.
"""

_REPORT_SHARE = 0.5
"""Share of the margin of the message as a whole that counts in its surest claim of work."""

_REPORT_LIMIT = 1.0
"""The largest margin of a message that counts."""

_SENTENCE_MARGIN = 0.15
"""Added to the margin of a clause read by itself, and of every sentence but the surest of a message."""

_QUESTION_MARKS = ("?", "\uff1f")

FeatureReader = Callable[[MarkedSentence], Iterable[int]]


@dataclass(frozen=True, slots=True)
class Scorer:
    """The weights of one question (`is this a claim of work done?`): one byte per feature, 128 means none."""

    name: str
    weights: bytes
    scale: float
    bias: float

    def score(self, indices: tuple[int, ...]) -> float:
        """Return the margin: above 0 the answer is yes."""
        # `itemgetter` takes all items in one call, at half the cost of a loop; of one item it makes no tuple.
        values = itemgetter(*indices)(self.weights) if len(indices) > 1 else (self.weights[indices[0]],)
        total: int = sum(values) - 128 * len(indices)
        return total * self.scale / math.sqrt(len(indices)) + self.bias


@dataclass(frozen=True, slots=True)
class ClaimModel:
    """The scorers, and the words of the languages they were trained on (one bit per hash).

    Acts and topics are asked of a sentence; `report` asks of a whole message whether it claims work.
    """

    digest: str
    acts: tuple[Scorer, ...]
    report: Scorer
    topics: tuple[Scorer, ...]
    vocabulary: bytes
    known_share: float
    margins: Mapping[str, float] = field(default_factory=dict)  # language → how far from certain `done` may be

    def knows_words(self, words: Iterable[str]) -> bool:
        """Return whether enough of the words are of a language of the model; code, numbers and marks don't count."""
        letters = [word for word in words if word[0].isalpha()]
        return len(letters) < _LEAST_WORDS or sum(map(self._knows_word, letters)) >= self.known_share * len(letters)

    def _knows_word(self, word: str) -> bool:
        if word[0] > _LAST_LATIN:
            return bool(_KNOWN_SCRIPT.fullmatch(word))
        place = zlib.crc32(word.encode()) % (len(self.vocabulary) * 8)
        return bool(self.vocabulary[place >> 3] >> (place & 7) & 1)

    def score_message(
        self, sentences: Sequence[MarkedSentence], read: FeatureReader = list_features
    ) -> list[dict[str, float]]:
        """Return the margin of each act for each sentence of a message: above 0 the sentence has it."""
        scores = [self._score_sentence(sentence, read) for sentence in sentences]
        silent = [
            is_silent(sentence, has_other_act=any(margins[act] > 0 for act in ACTS[1:]))
            for margins, sentence in zip(scores, sentences, strict=True)
        ]
        claims = weigh_context([margins["done"] for margins in scores], silent)
        if claims:
            surest = max(claims)
            margin = self.margins.get(sentences[claims.index(surest)].language, 0.0)
            message_margin = weigh_report(surest, self.score_report(sentences), is_alone=len(claims) == 1) + margin
            # The surest sentence stands for the message; another one has to claim something by itself as well.
            claims = [
                message_margin if claim == surest else min(claim + _SENTENCE_MARGIN, message_margin) for claim in claims
            ]
        return [{**margins, "done": claim} for margins, claim in zip(scores, claims, strict=True)]

    def score_clause(self, clause: MarkedSentence) -> dict[str, float]:
        """Return the margin of each act for a part of a sentence, which is read without the message around it."""
        margins = self._score_sentence(clause, list_features)
        return {**margins, "done": margins["done"] + _SENTENCE_MARGIN}

    def _score_sentence(self, sentence: MarkedSentence, read: FeatureReader) -> dict[str, float]:
        indices = fold_features(read(sentence), len(self.acts[0].weights))
        return {scorer.name: scorer.score(indices) for scorer in self.acts}

    def score_report(self, sentences: Sequence[MarkedSentence]) -> float:
        """Return the margin of a whole message: above 0 its words are those of a report of work."""
        return self.report.score(fold_features(list_message_features(sentences), len(self.report.weights)))

    def list_topics(self, sentence: MarkedSentence) -> tuple[str, ...]:
        """Return the topics of a sentence that claims something."""
        indices = fold_features(list_topic_features(sentence), len(self.topics[0].weights))
        return tuple(scorer.name for scorer in self.topics if scorer.score(indices) > 0)


def is_silent(sentence: MarkedSentence, *, has_other_act: bool) -> bool:
    """Return whether a sentence that claims no work speaks against the claims beside it.

    A question says nothing about the sentence before it: `Fixed the parser. Shall I push?`
    """
    return not has_other_act and not sentence.text.rstrip().endswith(_QUESTION_MARKS)


def weigh_context(margins: Sequence[float], silent: Sequence[bool]) -> list[float]:
    """Return the margins of `done` in a message, lowered by those of the sentences that have no other act."""
    limited = [
        max(-_CONTEXT_LIMIT, min(_CONTEXT_LIMIT, margin)) if counts else 0.0
        for margin, counts in zip(margins, silent, strict=True)
    ]
    total, count = sum(limited), sum(silent)
    return [
        margin
        if margin > _CERTAIN_MARGIN
        else margin + min(0.0, _CONTEXT_SHARE * (total - own) / max(1, count - counts))
        for margin, own, counts in zip(margins, limited, silent, strict=True)
    ]


def weigh_report(claim: float, report: float, *, is_alone: bool) -> float:
    """Return the margin of a message's surest claim with that of the whole message.

    A claim that is certain by itself is not lowered, and neither is the only sentence of a message.
    """
    shift = _REPORT_SHARE * max(-_REPORT_LIMIT, min(_REPORT_LIMIT, report))
    return claim + (max(0.0, shift) if is_alone or claim > _CERTAIN_MARGIN else shift)


def fold_features(features: Iterable[int], size: int) -> tuple[int, ...]:
    """Return the places of features in a table of `size` weights, a power of two, each place once."""
    mask = size - 1
    return tuple({feature & mask for feature in features})


@lru_cache(maxsize=1)
def load_model() -> ClaimModel:
    """Return the model that is shipped with the package."""
    return read_model(WEIGHTS.read_bytes())


def read_model(data: bytes) -> ClaimModel:
    """Return a model from its bytes, as `tools/train_claims.py` writes them: a line of JSON, then the weights."""
    if not data.startswith(MAGIC):
        raise ValueError("expected weights of the claim model, found something else")
    header, body = zlib.decompress(data[len(MAGIC) :]).split(b"\n", 1)
    settings = json.loads(header)
    scorers: dict[str, list[Scorer]] = {"acts": [], "report": [], "topics": []}
    for group, names in (("acts", ACTS), ("report", ("report",)), ("topics", TOPICS)):
        size = settings[f"{group}_size"]
        for name, (scale, bias) in zip(names, settings[group], strict=True):
            scorers[group].append(Scorer(name, body[:size], scale, bias))
            body = body[size:]
    return ClaimModel(
        settings["digest"],
        tuple(scorers["acts"]),
        scorers["report"][0],
        tuple(scorers["topics"]),
        body,
        settings["known_share"],
        settings["margins"],
    )


def get_model_digest() -> str:
    """Return the SHA-256 of the data and the code that the shipped weights were trained with."""
    return load_model().digest
