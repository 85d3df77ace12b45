"""Train the claim model from the labelled messages in `data/claims`, and write its weights into the package.

    python -m tools.train_claims                train, and write src/verdikt/claims/weights.bin
    python -m tools.train_claims --review       find labels that other batches contradict, and write doubtful.txt
    python -m tools.train_claims --calibrate    choose the margins of `done`, and write data/claims/margins.json
    python -m tools.train_claims --check        exit 1 if the weights are not those of the data and the code

A batch is a file `data/claims/<language>/<batch>.jsonl`: one message per line with the label of each of its sentences.
Batches whose name begins with `h` are held out: they measure the model and are never trained on.

The digest in the weights covers the training batches and the code that makes features of them. Other versions of
scikit-learn or NumPy may change a weight by one step of the quantisation, and change no digest.
"""

import argparse
import hashlib
import json
import sys
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from tools.claim_frames import expand_frames
from verdikt.claims.features import list_features, list_message_features, list_topic_features, list_words
from verdikt.claims.model import (
    ACTS,
    MAGIC,
    TOPICS,
    WEIGHTS,
    FeatureReader,
    Scorer,
    fold_features,
    is_silent,
    weigh_context,
    weigh_report,
)
from verdikt.claims.sentences import MarkedSentence, split_sentences

ROOT = Path(__file__).parent.parent
DATA = ROOT / "data" / "claims"
CODE = ("cues.py", "cues.txt", "features.py", "sentences.py")

ACTS_SIZE = 2**20
REPORT_SIZE = 2**18
TOPICS_SIZE = 2**16
MARGINS = {"done": 0.0, "blocked": 0.2, "delegation": 0.3, "admission": 0.25}
"""How far below the separating plane an act still counts: where precision and recall balance on left-out batches.

That of `done` is chosen language by language, by `--calibrate`.
"""

FRAMES = "frames"
MARGINS_FILE = DATA / "margins.json"
AIMS = {"en": (0.96, 0.95)}
OTHER_AIM = (0.93, 0.90)
"""Precision and recall of `done` that are aimed at; the margin is where the nearer of the two is met best.

In other languages than English 0.88 of recall is asked for, and a little more is aimed at: new writers cost recall
rather than precision.
"""

RECENT_BATCHES = ("s", "t")
"""First letters of the batches in the voices of agents, labelled by the rules as they are now."""

CALIBRATION_BATCHES = frozenset(
    "s4 s5 s7 s8 t2 t4 t8 t11 t12 t13 t15 t16 t17 t18 t19 t20 t21 t22 t23 t24 t25 t26 t27 t28"
    " t31 t32 t33 t34 t35 t36 t37 t38 t39".split()
)
"""The batches on which margins are chosen: messages as they come, not those that pair a report with a look-alike."""

TOPIC_MARGIN = 0.1
WIDER_TOPIC_MARGINS = dict.fromkeys(("lint", "types", "push", "deploy", "install", "file_operation"), 0.3)
"""How far below the separating plane a topic still counts: `change` not at all, and those further that are said in
many ways, which left-out batches show to be missed."""

DOUBTFUL_FILE = DATA / "doubtful.txt"
CONTRADICTED = 0.15
CONTRADICTED_FURTHER = 0.3
"""How far on the wrong side a left-out sentence is doubtful: one of an older batch, or a further claim of a message.

A further claim (`Fixed. The list shows drafts.`) takes its sense from the one beside it, and by itself claims nothing.
"""

STRICTNESS = 1.0
"""The penalty of a sentence on the wrong side (`C` of the solver). Left-out batches read the same from 0.7 to 8."""

LEAST_SENTENCES = 3
"""Features of fewer sentences get no weight: they teach nothing, and would share places with those that do."""

EVEN_SHARE = 0.2
"""The part of a feature's scale that does not depend on how unevenly it occurs with and without an act."""

OTHER_LANGUAGES_WEIGHT = 1.5
"""What a sentence in another language counts beside an English one, of which there are many more."""

RECENT_WEIGHT = 3.0
"""What a sentence of a recent English batch counts beside an older one: its labels follow the rules as they are now."""

LEVELS = 30
"""Number of steps of a weight on each side of 0. On left-out batches 20 read as well as 127, and compress to half."""

VOCABULARY_BITS = 2**18
KNOWN_SHARE = 0.5
"""The least share of words from the training data in a sentence of a known language."""


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence as the splitter yields it, with what it claims: act → topics, empty for no claim."""

    sentence: MarkedSentence
    text: str
    claims: dict[str, tuple[str, ...]]
    is_doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """The messages of one file."""

    language: str
    name: str
    messages: tuple[tuple[LabelledSentence, ...], ...]

    @property
    def is_held_out(self) -> bool:
        """Return whether the batch is never trained on."""
        return self.name.startswith("h")


def list_batch_files(root: Path = DATA) -> list[Path]:
    """Return the files of all batches, in a fixed order."""
    return sorted(root.glob("*/*.jsonl"))


def load_batches(root: Path = DATA) -> list[Batch]:
    """Return all batches."""
    doubtful = frozenset(DOUBTFUL_FILE.read_text().splitlines()) if DOUBTFUL_FILE.exists() else frozenset()
    return [
        Batch(
            path.parent.name,
            path.stem,
            tuple(
                tuple(
                    replace(part, is_doubtful=name_sentence(path.parent.name, path.stem, number, place) in doubtful)
                    for place, part in enumerate(message)
                )
                for number, message in enumerate(_read_messages(path))
            ),
        )
        for path in list_batch_files(root)
    ]


def name_sentence(language: str, batch: str, number: int, place: int) -> str:
    """Return the line that stands for a sentence in `doubtful.txt`."""
    return f"{language}/{batch} {number} {place}"


def load_frames(root: Path = DATA) -> list[Batch]:
    """Return the messages that the frames of each language make: for training only, because one hand wrote them all."""
    batches = []
    for path in sorted(root.glob("*/frames.txt")):
        messages = []
        for message, labels in expand_frames(path):
            triples = [
                (message[part.start : part.end], *_find_label(message[part.start : part.end], labels))
                for part in split_sentences(message)
            ]
            # Sentences of a frame stand beside others by chance, which teaches nothing.
            messages.append(
                tuple(
                    replace(part, sentence=replace(part.sentence, previous="", following=""))
                    for part in label_message(message, triples)
                )
            )
        batches.append(Batch(path.parent.name, FRAMES, tuple(messages)))
    return batches


def _find_label(text: str, labels: Sequence[tuple[str, str, tuple[str, ...]]]) -> tuple[str, tuple[str, ...]]:
    """Return act and topics of the piece that a sentence is, or is a part of."""
    return next((act, topics) for piece, act, topics in labels if text in piece or piece in text)


def _read_messages(path: Path) -> Iterator[tuple[LabelledSentence, ...]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        record = json.loads(line)
        try:
            yield tuple(label_message(record["message"], record["sentences"]))
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from error


def label_message(message: str, triples: Sequence[Sequence[Any]]) -> Iterator[LabelledSentence]:
    """Yield the sentences of a message with their labels; the labels must name each sentence as it is split."""
    claims: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for text, act, topics in triples:
        if act not in (*ACTS, "none") or not set(topics) <= set(TOPICS):
            raise ValueError(f"expected an act and topics of the model, found {act!r}, {topics!r}")
        claims[text].update({act: tuple(topics)} if act != "none" else {})
    sentences = split_sentences(message)
    texts = {message[sentence.start : sentence.end] for sentence in sentences}
    if texts != claims.keys():
        raise ValueError(f"expected labels of {sorted(texts)}, found those of {sorted(claims)}")
    for sentence in sentences:
        text = message[sentence.start : sentence.end]
        yield LabelledSentence(sentence, text, claims[text])


def compute_digest(root: Path = DATA) -> str:
    """Return the SHA-256 of what the weights are made from: training batches, features and this file."""
    files = [path for path in list_batch_files(root) if not path.stem.startswith("h")]
    files += [*sorted(root.glob("*/frames.txt")), MARGINS_FILE, DOUBTFUL_FILE]
    files += [*(WEIGHTS.with_name(name) for name in CODE), Path(__file__), Path(__file__).with_name("claim_frames.py")]
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.parent.name}/{path.name}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@cache
def read_features(sentence: MarkedSentence) -> Sequence[int]:
    """Return the features of a sentence for acts; remembered, because an evaluation trains on it again and again."""
    return array("I", sorted(list_features(sentence)))


def train_model(batches: Sequence[Batch], digest: str = "", read: FeatureReader = read_features) -> bytes:
    """Return the weights trained on all sentences of some batches, as `read_model` reads them."""
    sentences = [labelled for batch in batches for message in batch.messages for labelled in message]
    importance = [weigh_batch(batch) for batch in batches for message in batch.messages for _ in message]
    # Topics follow the same rules in all batches, so that only the language counts for them.
    evenly = [weigh_language(batch) for batch in batches for message in batch.messages for _ in message]
    features = [read(labelled.sentence) for labelled in sentences]
    sizes = {"acts_size": ACTS_SIZE, "report_size": REPORT_SIZE, "topics_size": TOPICS_SIZE}
    settings: dict[str, Any] = {"digest": digest, **sizes, "known_share": KNOWN_SHARE}
    settings["margins"] = json.loads(MARGINS_FILE.read_text())
    body = b""
    rows = build_matrix(features, ACTS_SIZE, LEAST_SENTENCES)
    settings["acts"] = []
    for act in ACTS:
        chosen = [index for index, one in enumerate(sentences) if act != "done" or not one.is_doubtful]
        answers = [act in sentences[index].claims for index in chosen]
        weights, scale, bias = fit_scorer(rows[chosen], answers, [importance[index] for index in chosen])
        settings["acts"].append([scale, round(bias + MARGINS[act], 6)])
        body += weights
    weights, scale, bias = fit_report(batches)
    settings["report"] = [[scale, bias]]
    body += weights
    # Topics are asked only of what claims something, so only that is learned from.
    # An admission without topics was labelled by its act alone.
    claiming = [index for index, labelled in enumerate(sentences) if any(labelled.claims.values())]
    rows = build_matrix([list_topic_features(sentences[index].sentence) for index in claiming], TOPICS_SIZE)
    settings["topics"] = []
    for topic in TOPICS:
        answers = [any(topic in topics for topics in sentences[index].claims.values()) for index in claiming]
        weights, scale, bias = fit_scorer(rows, answers, [evenly[index] for index in claiming], is_scaled=False)
        margin = WIDER_TOPIC_MARGINS.get(topic, TOPIC_MARGIN) if topic != "change" else 0.0
        settings["topics"].append([scale, round(bias + margin, 6)])
        body += weights
    body += build_vocabulary(sentences)
    return MAGIC + zlib.compress(json.dumps(settings).encode() + b"\n" + body, 9)


def fit_report(batches: Sequence[Batch]) -> tuple[bytes, float, float]:
    """Return the weights of the question whether a whole message claims work; what frames make is no message."""
    pairs = [(batch, message) for batch in batches if batch.name != FRAMES for message in batch.messages]
    features = [list_message_features([part.sentence for part in message]) for _, message in pairs]
    answers = [any("done" in part.claims for part in message) for _, message in pairs]
    rows = build_matrix(features, REPORT_SIZE, LEAST_SENTENCES)
    return fit_scorer(rows, answers, [weigh_batch(batch) for batch, _ in pairs])


def build_matrix(features: Sequence[Iterable[int]], size: int, least_sentences: int = 1) -> Any:
    """Return the features of each sentence as a row of length 1 (Euclidean), then without the rare ones."""
    import numpy
    from scipy.sparse import csr_matrix

    counts = Counter(feature for row in features for feature in row)
    places = [
        sorted(fold_features((feature for feature in row if counts[feature] >= least_sentences), size))
        for row in features
    ]
    # The length counts the rare features too, as it does for a sentence that is read later.
    values = [
        numpy.full(len(row), len(fold_features(full, size)) ** -0.5) for row, full in zip(places, features, strict=True)
    ]
    starts = numpy.cumsum([0, *map(len, places)])
    columns = numpy.concatenate([numpy.array(row, dtype=numpy.int32) for row in places])
    return csr_matrix((numpy.concatenate(values), columns, starts), shape=(len(places), size))


def fit_scorer(
    rows: Any, answers: Sequence[bool], importance: Sequence[float], *, is_scaled: bool = True
) -> tuple[bytes, float, float]:
    """Return the weights of one yes-no question in one byte each, with their scale and the bias."""
    import numpy
    from sklearn.svm import LinearSVC

    if not any(answers) or all(answers):
        return bytes([128]) * rows.shape[1], 1.0, 1.0 if answers and answers[0] else -1.0
    scales = scale_features(rows, answers) if is_scaled else None
    # The seed fixes the order in which the solver visits the rows.
    model = LinearSVC(C=STRICTNESS, random_state=0, max_iter=5_000).fit(
        rows if scales is None else rows.multiply(scales).tocsr(), numpy.array(answers), numpy.array(importance)
    )
    # The scales are folded into the weights, so that reading a message costs nothing more.
    weights = model.coef_[0] if scales is None else model.coef_[0] * scales
    # A few huge weights would make the step too coarse for all others; they are clipped.
    scale = float(numpy.quantile(numpy.abs(weights[weights != 0]), 0.9995)) / LEVELS
    steps = numpy.clip(numpy.rint(weights / scale), -LEVELS, LEVELS).astype(int)
    return bytes((steps + 128).tolist()), round(scale, 9), round(float(model.intercept_[0]), 6)


def scale_features(rows: Any, answers: Sequence[bool]) -> Any:
    """Return a scale per feature: the more a feature tells yes from no in the training data, the cheaper its weight."""
    import numpy

    is_yes = numpy.array(answers)
    counts = [numpy.asarray((rows[chosen] > 0).sum(axis=0)).ravel() + 1.0 for chosen in (is_yes, ~is_yes)]
    shares = [count / count.sum() for count in counts]
    unevenness = numpy.abs(numpy.log(shares[0] / shares[1]))
    return EVEN_SHARE + (1 - EVEN_SHARE) * unevenness / unevenness[unevenness > 0].mean()


LeftOut = tuple[Batch, int, int, LabelledSentence, float]
"""A sentence with its batch, its message's number, its own, and its margin of `done` by a model without its batch."""


def score_left_out(chosen: Sequence[Batch], batches: Sequence[Batch], frames: Sequence[Batch]) -> Iterator[LeftOut]:
    """Yield each sentence of the chosen batches, read by a model that was trained on all batches but its own."""
    for fold in list_folds(chosen):
        score = train_scorer([*(batch for batch in batches if batch not in fold), *frames], "done")
        for batch in fold:
            for number, message in enumerate(batch.messages):
                for place, part in enumerate(message):
                    yield batch, number, place, part, score(read_features(part.sentence))


def find_doubtful(batches: Sequence[Batch], frames: Sequence[Batch]) -> list[str]:
    """Return the sentences whose label a model contradicts that was not trained on them, in order."""
    doubtful = []
    for batch, number, place, part, margin in score_left_out(batches, batches, frames):
        is_claim = "done" in part.claims
        wrong = -margin if is_claim else margin
        claims = sum("done" in other.claims for other in batch.messages[number])
        is_older = not batch.name.startswith(RECENT_BATCHES)
        if (is_older and wrong > CONTRADICTED) or (is_claim and claims > 1 and wrong > CONTRADICTED_FURTHER):
            doubtful.append(name_sentence(batch.language, batch.name, number, place))
    return sorted(doubtful)


def calibrate_margins(batches: Sequence[Batch], frames: Sequence[Batch]) -> dict[str, float]:
    """Return language → margin of `done`: the one that reads messages best which the model was not trained on."""
    answers: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for fold in list_folds([batch for batch in batches if batch.name in CALIBRATION_BATCHES]):
        training = [*(batch for batch in batches if batch not in fold), *frames]
        score, report = train_scorer(training, "done"), Scorer("report", *fit_report(training))
        for batch in fold:
            for message in batch.messages:
                sentences = [part.sentence for part in message]
                silent = [
                    is_silent(part.sentence, has_other_act=not part.claims.keys() <= {"done"}) for part in message
                ]
                claims = weigh_context([score(read_features(sentence)) for sentence in sentences], silent)
                margin = report.score(fold_features(list_message_features(sentences), REPORT_SIZE))
                is_report = any("done" in part.claims for part in message)
                verdict = weigh_report(max(claims), margin, is_alone=len(claims) == 1)
                answers[batch.language].append((verdict, is_report))
    return {
        language: choose_margin(found, AIMS.get(language, OTHER_AIM)) for language, found in sorted(answers.items())
    }


def choose_margin(answers: Sequence[tuple[float, bool]], aim: tuple[float, float]) -> float:
    """Return the margin at which the nearer of precision and recall to its aim is highest; of equals the middle one."""
    worths: dict[float, float] = {}
    for step in range(-40, 41):
        margin = step / 100
        found = [is_claim for score, is_claim in answers if score + margin > 0]
        precision = sum(found) / max(1, len(found))
        recall = sum(found) / max(1, sum(is_claim for _, is_claim in answers))
        worths[margin] = round(min(precision - aim[0], recall - aim[1]), 9)
    best = [margin for margin, worth in worths.items() if worth == max(worths.values())]
    return best[len(best) // 2]


def list_folds(batches: Sequence[Batch], count: int = 4) -> list[list[Batch]]:
    """Return groups of batches that are left out together: every `count`th of each language."""
    by_language: dict[str, list[Batch]] = defaultdict(list)
    for batch in batches:
        by_language[batch.language].append(batch)
    return [[batch for group in by_language.values() for batch in group[fold::count]] for fold in range(count)]


def train_scorer(batches: Sequence[Batch], act: str) -> Callable[[Iterable[int]], float]:
    """Return the scorer of one act, trained on all sentences of some batches."""
    pairs = [
        (batch, part)
        for batch in batches
        for message in batch.messages
        for part in message
        if act != "done" or not part.is_doubtful
    ]
    rows = build_matrix([read_features(part.sentence) for _, part in pairs], ACTS_SIZE, LEAST_SENTENCES)
    importance = [weigh_batch(batch) for batch, _ in pairs]
    weights, scale, bias = fit_scorer(rows, [act in part.claims for _, part in pairs], importance)
    scorer = Scorer(act, weights, scale, bias)
    return lambda features: scorer.score(fold_features(features, ACTS_SIZE))


def weigh_batch(batch: Batch) -> float:
    """Return what a sentence of a batch counts in training."""
    is_recent = batch.language == "en" and batch.name.startswith(RECENT_BATCHES)
    return RECENT_WEIGHT if is_recent else weigh_language(batch)


def weigh_language(batch: Batch) -> float:
    """Return what a sentence counts by its language alone."""
    return 1.0 if batch.language == "en" else OTHER_LANGUAGES_WEIGHT


def build_vocabulary(sentences: Sequence[LabelledSentence]) -> bytes:
    """Return one bit per hash of a word that occurs in two sentences at least."""
    counts: Counter[str] = Counter()
    for labelled in sentences:
        counts.update(set(list_words(labelled.sentence.masked)))
    bits = bytearray(VOCABULARY_BITS // 8)
    for word, count in counts.items():
        if count >= 2:
            place = zlib.crc32(word.encode()) % VOCABULARY_BITS
            bits[place >> 3] |= 1 << (place & 7)
    return bytes(bits)


def main() -> int:
    """Train, or check the digest."""
    parser = argparse.ArgumentParser(description="Train the claim model.")
    parser.add_argument("--check", action="store_true", help="only compare the digest of the weights")
    parser.add_argument("--calibrate", action="store_true", help="choose the margins of `done` on left-out batches")
    parser.add_argument("--review", action="store_true", help="find the labels that other batches contradict")
    arguments = parser.parse_args()
    if arguments.check:
        from verdikt.claims.model import get_model_digest

        is_current = get_model_digest() == compute_digest()
        print("weights are current" if is_current else "weights are stale: run `python -m tools.train_claims`")
        return 0 if is_current else 1
    if arguments.review:
        # All labels have a say here: what was doubtful before may be corrected since.
        DOUBTFUL_FILE.write_text("")
    batches, frames = [batch for batch in load_batches() if not batch.is_held_out], load_frames()
    if arguments.review:
        doubtful = find_doubtful(batches, frames)
        DOUBTFUL_FILE.write_text("\n".join(doubtful) + "\n")
        print(f"{DOUBTFUL_FILE}: {len(doubtful)} sentences")
        return 0
    if arguments.calibrate:
        margins = calibrate_margins(batches, frames)
        MARGINS_FILE.write_text(json.dumps(margins, indent=2) + "\n")
        print(f"{MARGINS_FILE}: {margins}")
        return 0
    batches += frames
    data = train_model(batches, compute_digest())
    WEIGHTS.write_bytes(data)
    print(f"{WEIGHTS}: {len(data):,} bytes from {sum(len(batch.messages) for batch in batches):,} messages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
