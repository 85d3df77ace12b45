"""How well the trained reader of claims reads: precision and recall per act and language, on messages it never saw.

Two figures for each language. *Left out*: each training batch is read by a model that was not trained on it. *Held
out*: the batches that no shipped model was ever trained on, read by the shipped model. A message counts once per act:
right when the act is found in it and labelled in it. Precision is the share of what was found that is
labelled, recall the share of what is labelled that was found. Both in one run, no seconds except the cost per message.
"""

import argparse
import math
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tools.train_claims import (
    Batch,
    LabelledSentence,
    list_folds,
    load_batches,
    load_frames,
    read_features,
    train_model,
)

from verdikt.claims.cues import load_cues
from verdikt.claims.features import list_cue_features, list_features, list_words
from verdikt.claims.model import (
    ACTS,
    TOPICS,
    ClaimModel,
    FeatureReader,
    load_model,
    read_model,
)
from verdikt.claims.reader import SentenceClaim, add_clause_topics, drop_denied_change, read_claims, read_clauses
from verdikt.claims.sentences import MarkedSentence
from verdikt.claims.topics import refine_claims


@dataclass(slots=True)
class Score:
    """Counts of what was found rightly, found wrongly, and missed."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        """Return the share of what was found that is labelled."""
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """Return the share of what is labelled that was found."""
        return self.right / max(1, self.right + self.missed)

    def count(self, is_expected: bool, is_found: bool) -> None:
        """Add one answer."""
        self.right += is_expected and is_found
        self.wrong += is_found and not is_expected
        self.missed += is_expected and not is_found


@dataclass(slots=True)
class Evaluation:
    """Scores by act and by topic, and the messages whose acts were read wrongly."""

    scores: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    mistakes: list[str] = field(default_factory=list)


def evaluate_model(model: ClaimModel, batches: Iterable[Batch], read: FeatureReader = read_features) -> Evaluation:
    """Return how a model reads some batches, message by message; topics are counted by sentence."""
    evaluation = Evaluation()
    for batch in batches:
        for message in batch.messages:
            expected: set[str] = set()
            found: set[str] = set()
            scores = model.score_message([labelled.sentence for labelled in message], read)
            for labelled, margins in zip(message, scores, strict=True):
                if not model.knows_words(list_words(labelled.sentence.masked)):
                    margins = dict.fromkeys(margins, -1.0)  # noqa: PLW2901
                expected.update(labelled.claims)
                found.update(act for act in ACTS if margins[act] > 0)
                if "done" in labelled.claims:
                    topics = read_topics(model, labelled)
                    for topic in TOPICS:
                        evaluation.scores[f"topic {topic}"].count(topic in labelled.claims["done"], topic in topics)
            for act in ACTS:
                evaluation.scores[act].count(act in expected, act in found)
            if expected != found:
                text = " | ".join(labelled.text for labelled in message)
                evaluation.mistakes.append(f"expected {sorted(expected)}, found {sorted(found)}: {text}")
    return evaluation


def read_topics(model: ClaimModel, labelled: LabelledSentence) -> set[str]:
    """Return the topics of a sentence as the gate reads them: what names in it make certain is added."""
    topics = drop_denied_change(model, labelled.sentence, model.list_topics(labelled.sentence))
    topics = add_clause_topics(topics, read_clauses(model, labelled.sentence))
    claim = SentenceClaim(labelled.text, 0, len(labelled.text), "done", topics)
    return {topic for refined in refine_claims([claim]) if refined.act == "done" for topic in refined.topics}


def evaluate_left_out(batches: Sequence[Batch]) -> dict[str, Evaluation]:
    """Return the evaluation of each language, each batch read by a model that was not trained on it."""
    total: dict[str, Evaluation] = defaultdict(Evaluation)
    frames = load_frames()
    for fold in list_folds(batches):
        model = read_model(train_model([*(batch for batch in batches if batch not in fold), *frames]))
        for batch in fold:
            evaluation = evaluate_model(model, [batch])
            for name, score in evaluation.scores.items():
                sums = total[batch.language].scores[name]
                sums.right += score.right
                sums.wrong += score.wrong
                sums.missed += score.missed
            total[batch.language].mistakes += [f"{batch.name}: {mistake}" for mistake in evaluation.mistakes]
    return total


def print_table(title: str, evaluations: dict[str, Evaluation]) -> None:
    """Print a line per language: precision and recall of each act, with the number of labelled messages."""
    print(f"\n{title} (precision recall, messages)")
    print("    " + "".join(f"{act:>20}" for act in ACTS))
    for language, evaluation in sorted(evaluations.items()):
        scores = [evaluation.scores[act] for act in ACTS]
        cells = [f"{one.precision:.3f} {one.recall:.3f} ({one.right + one.missed:4})" for one in scores]
        print(f"{language:4}" + "".join(f"{cell:>20}" for cell in cells))


def print_topics(title: str, evaluations: Iterable[Evaluation]) -> None:
    """Print precision and recall of each topic, over all languages."""
    total: dict[str, Counter[str]] = defaultdict(Counter)
    for evaluation in evaluations:
        for topic in TOPICS:
            score = evaluation.scores[f"topic {topic}"]
            total[topic].update(right=score.right, wrong=score.wrong, missed=score.missed)
    print(f"\ntopics of sentences that claim work done, {title} (precision recall, sentences)")
    for topic, counts in total.items():
        score = Score(**counts)
        print(f"{topic:16}{score.precision:.3f} {score.recall:.3f} ({score.right + score.missed})")


def evaluate_held_out(batches: Sequence[Batch]) -> dict[str, Evaluation]:
    """Return the evaluation of the shipped model on the batches that it was never trained on, by language."""
    languages = sorted({batch.language for batch in batches})
    held_out = [batch for batch in batches if batch.is_held_out]
    return {
        language: evaluate_model(load_model(), [batch for batch in held_out if batch.language == language])
        for language in languages
    }


def read_without_cues(sentence: MarkedSentence) -> set[int]:
    """Return the features of a sentence without those of the classes of words."""
    return list_features(sentence) - list_cue_features(sentence)


def print_worth_of_cues(batches: Sequence[Batch]) -> None:
    """Print how the held-out batches are read with the classes of words and without, each by a model of its own."""
    held_out = [batch for batch in batches if batch.is_held_out]
    training = [batch for batch in batches if not batch.is_held_out] + load_frames()
    without = read_model(train_model(training, read=read_without_cues))
    names = {name for classes in load_cues().values() for name in classes}
    print(f"\nworth of the {len(names)} classes of words: `done` in the held-out batches (precision recall)")
    for language in sorted({batch.language for batch in held_out}):
        chosen = [batch for batch in held_out if batch.language == language]
        scores = [
            evaluate_model(load_model(), chosen).scores["done"],
            evaluate_model(without, chosen, read_without_cues).scores["done"],
        ]
        print(
            f"{language:4}"
            + "".join(
                f"{name:>10} {one.precision:.3f} {one.recall:.3f}"
                for name, one in zip(("with", "without"), scores, strict=True)
            )
        )


def print_cost(batches: Sequence[Batch]) -> None:
    """Print what reading costs per message of a few sentences: in CPU time, and beside a yardstick in the same run."""
    texts = [" ".join(part.text for part in message) for batch in batches for message in batch.messages]
    typical = [text for text in texts if 150 <= len(text) <= 600]
    yardstick = [[zlib.crc32(text[: index + 1].encode()) for index in range(len(text))] for text in typical]
    best = {"reading": math.inf, "yardstick": math.inf}
    # The best of several runs in turn: other work on the machine slows both, and never speeds one up.
    for _ in range(5):
        start = time.process_time()
        for text in typical:
            read_claims(text)
        middle = time.process_time()
        for text, expected in zip(typical, yardstick, strict=True):
            assert [zlib.crc32(text[: index + 1].encode()) for index in range(len(text))] == expected
        best["reading"] = min(best["reading"], middle - start)
        best["yardstick"] = min(best["yardstick"], time.process_time() - middle)
    cost = best["reading"] / len(typical) * 1000
    ratio = best["reading"] / best["yardstick"]
    print(f"\ncost: {cost:.2f} ms per message, {len(typical)} messages of 150 to 600 characters")
    print(f"      {ratio:.1f} times that of hashing every beginning of the message")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="Evaluate the reader of claims.")
    parser.add_argument("--mistakes", action="store_true", help="print what the left-out batches got wrong")
    parser.add_argument("--skip-held-out", action="store_true", help="leave the held-out batches unread")
    arguments = parser.parse_args()
    batches = load_batches()
    left_out = evaluate_left_out([batch for batch in batches if not batch.is_held_out])
    print_table("each training batch left out in turn", left_out)
    print_topics("left out", left_out.values())
    if arguments.mistakes:
        print("\n".join(f"{language} {mistake}" for language, one in left_out.items() for mistake in one.mistakes))
    if not arguments.skip_held_out:
        held_out = evaluate_held_out(batches)
        print_table("held out, shipped model", held_out)
        print_topics("held out", held_out.values())
        print_worth_of_cues(batches)
    print_cost(batches)


if __name__ == "__main__":
    main()
