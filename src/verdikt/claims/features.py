"""The features of a sentence that the claim model weighs, as hashed numbers. Pure; training and inference share it."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from verdikt.claims.cues import EASTERN, GERMAN_PARTICIPLE, get_classes, get_endings, get_piece_pattern, load_cues
from verdikt.claims.sentences import CODE, QUOTE, MarkedSentence
from verdikt.model.lazy_regex import compile_lazily

WORDS = 90
"""Number of words of a sentence that are read; together with the length of a sentence this bounds the cost."""

_IDEOGRAPH = "\u3040-\u30ff\u3400-\u9fff"
_TOKEN = compile_lazily(rf"[{_IDEOGRAPH}]|(?:(?![{_IDEOGRAPH}])[^\W\d_])+(?:'[a-z]{{1,2}}\b)?|\d+|[§¶?!:;,，、；：]")
_PLAIN_TOKEN = compile_lazily(r"[^\W\d_]+(?:'[a-z]{1,2}\b)?|\d+|[§¶?!:;,，、；：]")
_HAS_IDEOGRAPH = compile_lazily(f"[{_IDEOGRAPH}]")
"""The same words at a third of the cost, where no ideograph is among them."""

_RUN = compile_lazily(rf"[{_IDEOGRAPH}]{{2,}}")
_MASKS = compile_lazily(f"{CODE}{{2,}}|{QUOTE}{{2,}}")
_FILE = compile_lazily(
    r"(?<![\w./-])[\w./-]{1,80}\.(?:py|[jt]sx?|go|rs|c|h|cpp|java|rb|php|sh|css|html|json|ya?ml|toml|ini|cfg|md|txt|sql"
    r"|xml|csv|lock|env)\b(?!/)"
)
"""A file that is named without backticks; it is code all the same, and `build.js` is no build."""

_CODE_SPAN = compile_lazily(r"`[^`\n]{1,300}`")
_NAMED = "qfile"
_NAMED_CODE = compile_lazily(rf"`[^`\n]{{0,300}}?{_NAMED}[^`\n]{{0,300}}`")
"""What stands for the name of a file, and code that holds one."""

_CLAUSE_END = compile_lazily(r"[、，,；;：:]\s*")
_ENDINGS = " *_)\"'.!?…。！？」）"
_TITLE_WORDS = 12
_OPENING_WORDS = 4
"""Number of words at the start of a sentence that tell what kind of message it is from: `Here is what I`."""

_PAIRED_CLASSES = 9
"""Number of classes of words in a sentence whose pairs are features, so that their number stays bounded."""

_COMMON_CLASSES = frozenset({"THE", "IN", "AND"})
"""Classes that say nothing about mood, which would only crowd the pairs."""


@lru_cache(maxsize=64)
def list_words(text: str) -> tuple[str, ...]:
    """Return the words of a masked text in lower case; each ideograph is a word, and a number is `0` or `1`.

    The last texts are remembered, because a sentence is read by itself, as a neighbour and as a title.
    """
    # A run of masks is one word: grammatically, code is a name for something.
    text = _MASKS.sub(lambda match: match[0][0], text.lower())
    # `0 failed` and `2 failed` say opposite things; which number it is beyond that says nothing.
    words = (_TOKEN if _HAS_IDEOGRAPH.search(text) else _PLAIN_TOKEN).findall(text)[:WORDS]
    return tuple([("1" if word.strip("0") else "0") if word[0].isdigit() else word for word in words])


class _Word(NamedTuple):
    """What is known of a word, as hashes: itself, its shape, its class, and its character n-grams."""

    word: int
    shape: int
    name: int
    characters: tuple[int, ...]


def _hash_text(text: str) -> int:
    return crc32(text.encode())


def _hash_characters(word: str) -> tuple[int, ...]:
    """Return the hashes of a word's 3- to 5-grams; of 2-grams too where a character is a syllable."""
    padded = f"<{word[:40]}>"
    shortest = 2 if word[0] >= EASTERN else 3
    return tuple(
        _hash_text(padded[start : start + size])
        for size in range(shortest, 6)
        for start in range(len(padded) - size + 1)
    )


@lru_cache(maxsize=16_384)
def _read_word(word: str, language: str) -> _Word:
    return _Word(
        _hash_text("w" + word),
        _hash_text("s" + _read_shape(word)),
        _hash_text("u" + _read_class(word, language)),
        _hash_characters(word),
    )


def _read_shape(word: str) -> str:
    """Return a short word as it is, and of a longer one the ending, where many languages have their grammar."""
    return word if len(word) <= 4 or not word[0].isalpha() else "~" + word[-2:]


@lru_cache(maxsize=16_384)
def _read_class(word: str, language: str) -> str:
    """Return the class of a word; of an unknown one, whether it ends like a participle or a past tense."""
    if not word[0].isalpha():
        return word
    if word[0] >= EASTERN:
        return "D" if _has_korean_past(word) else "x"
    if name := get_classes(language).get(word):
        return name
    if language == "de" and GERMAN_PARTICIPLE.fullmatch(word):
        return "D"
    return next((name for endings, name in get_endings(language) if word.endswith(endings)), "x")


def _has_korean_past(word: str) -> bool:
    """Return whether a syllable ends in ㅆ, which marks the past; `겠` (will) and `있` (is) end in it too."""
    return any("가" <= char <= "힣" and (ord(char) - 0xAC00) % 28 == 20 and char not in "겠있" for char in word)


_START, _END, _ARTICLE, _UNKNOWN = map(_hash_text, ("^", "$", "uTHE", "ux"))
_FIRST, _MIDDLE, _LAST = map(_hash_text, ("first", "middle", "last"))
_BREAKS = frozenset(_hash_text("u" + mark) for mark in ",:;，、；：")
_CLASS_HASHES = {name: _hash_text("u" + name) for classes in load_cues().values() for name in classes}
_TURNS = _BREAKS | {_CLASS_HASHES[name] for name in ("BECAUSE", "BUT", "IF", "ASK")}
"""What ends the first clause of a sentence."""

_NAMES = frozenset(_CLASS_HASHES[name] for name in _CLASS_HASHES.keys() - _COMMON_CLASSES)
_SILENT = frozenset({_UNKNOWN, *(_CLASS_HASHES[name] for name in _COMMON_CLASSES)})


_PIECEWISE = frozenset({"ja", "zh", "ko"})
"""Languages whose classes are pieces of a text, because words are not apart or carry their grammar."""


def _find_pieces(text: str, language: str) -> list[str]:
    """Return the classes of the pieces in a text, in order."""
    classes = get_classes(language)
    return [classes[piece] for piece in get_piece_pattern(language).findall(text)]


def shows_change(sentence: MarkedSentence) -> bool:
    """Return whether a text has a sign of a change: `now`, `no longer`, a past tense that is not denied."""
    classes = set(_name_classes(sentence.masked, sentence.language))
    return not classes.isdisjoint(("NOW", "AGAIN")) or ("D" in classes and "NOT" not in classes)


def denies_change(sentence: MarkedSentence) -> bool:
    """Return whether a text denies each change that it names: `no snapshot changed`, `did not touch the config`.

    Where the verb stands last, what is denied may be another word, so nothing is taken for a denial there.
    """
    classes = [_read_class(word, sentence.language) for word in list_words(sentence.masked)]
    if sentence.language in _PIECEWISE or not {"NOT", "D"}.issubset(classes):
        return False
    first = classes.index("NOT")
    has_denied_verbs = all(first <= place + 1 for place, name in enumerate(classes) if name == "D")
    return has_denied_verbs and {"NOW", "AGAIN", "GOOD"}.isdisjoint(classes)


def list_features(sentence: MarkedSentence) -> set[int]:
    """Return the hashes of what is in a sentence: its words, their characters, shapes and classes, and its marks."""
    sentence = _mask_files(sentence)
    words = [_read_word(word, sentence.language) for word in list_words(sentence.masked)]
    features = set(map(_hash_text, _list_marks(sentence, len(words))))
    features.update(*(word.characters for word in words))
    for run in _RUN.findall(sentence.masked):
        features.update(_hash_characters(run))
    if sentence.language in _PIECEWISE:
        # Where the verb stands last, the end of a clause tells what the start does elsewhere.
        ends = _CLAUSE_END.split(sentence.masked.rstrip(_ENDINGS))
        features.update(
            _hash_text(f"e{place} {clause[-size:]}")
            for place, clause in ((0, ends[-1]), (1, ends[0]))
            for size in range(2, min(9, len(clause) + 1))
        )
    own = [_START, *(word.word for word in words), _END]
    features.update(own, *_list_sequences(own, 3))
    shapes = [_START, *(word.shape for word in words), _END]
    features.update(*_list_sequences(shapes, 5))
    features.update(_list_class_features(sentence, words))
    return features


def list_message_features(sentences: Sequence[MarkedSentence]) -> set[int]:
    """Return the hashes of what is in a message: its words and their pairs, and how its sentences open."""
    features: set[int] = set()
    for sentence in map(_mask_files, sentences):
        place = _FIRST if sentence.index == 0 else _LAST if sentence.is_last else _MIDDLE
        words = [_START, *(_read_word(word, sentence.language).word for word in list_words(sentence.masked)), _END]
        features.update(words, _join_hashes(words, words[1:], 0x01000193))
        opening = words[: _OPENING_WORDS + 2]
        for grams in (opening, *_list_sequences(opening, _OPENING_WORDS)):
            features.update(_join_hashes(itertools.repeat(place), grams, 0x5BD1E995))
    return features


def list_cue_features(sentence: MarkedSentence) -> set[int]:
    """Return the part of the features that comes from the classes of words, to measure what they are worth."""
    sentence = _mask_files(sentence)
    words = [_read_word(word, sentence.language) for word in list_words(sentence.masked)]
    return _list_class_features(sentence, words)


def _mask_files(sentence: MarkedSentence) -> MarkedSentence:
    # The last character ends a sentence, not a name.
    if "." not in sentence.masked[:-1]:
        return sentence
    return replace(sentence, masked=_FILE.sub(lambda match: CODE * len(match[0]), sentence.masked))


def _list_class_features(sentence: MarkedSentence, words: list[_Word]) -> set[int]:
    """Return the hashes of the classes in a sentence: each one, their sequences, their pairs in any order."""
    text = sentence.masked
    classes = [word.name for word in words]
    if sentence.language in _PIECEWISE:
        classes += [_CLASS_HASHES[name] for name in _find_pieces(text, sentence.language)]
    features = set(classes)
    features.update(*_list_sequences(_condense_classes(classes), 4))
    # The first clause by itself: `Login done, reset missing` begins with a claim, and `Moved it so that …` is one.
    first = [*classes[:1], *itertools.takewhile(lambda name: name not in _TURNS, classes[1:])]
    if len(first) < len(classes):
        skeleton = _condense_classes(first)
        for grams in (skeleton, *_list_sequences(skeleton, 4)):
            features.update(_join_hashes(itertools.repeat(_END), grams, 0x7FEB352D))
    named = sorted(_NAMES.intersection(classes))[:_PAIRED_CLASSES]
    features.update(_join_pairs(itertools.combinations(named, 2), 0x38B34AE5))
    return features


def list_topic_features(sentence: MarkedSentence) -> set[int]:
    """Return the hashes of the words as they came, code included: `ruff check` names a topic, grammar does not."""
    words = [_read_word(word, sentence.language) for word in list_words(sentence.text)]
    hashes = [word.word for word in words]
    features = {*hashes, *_join_hashes(hashes, hashes[1:], 0x01000193)}
    features.update(*(word.characters for word in words))
    for run in _RUN.findall(sentence.text):
        features.update(_hash_characters(run))
    # What stands beside a name, whichever it is: `renamed … to …` is about a file, `deployed to …` is not.
    named = _NAMED_CODE.sub(_NAMED, _FILE.sub(_NAMED, sentence.text))
    plain = [_hash_text(word) for word in list_words(_CODE_SPAN.sub(CODE, named))]
    features.update(_join_hashes(plain, plain[2:], 0x2C1B3C6D), *_list_sequences(plain, 3))
    return features or {_START}


def _join_pairs(pairs: Iterable[tuple[int, int]], factor: int) -> list[int]:
    """Return the hash of each pair; another factor makes other features of the same pairs."""
    # Plain arithmetic costs a fifth of joining and hashing the texts.
    return [(left * factor + right) & 0xFFFFFFFF for left, right in pairs]


def _join_hashes(first: Iterable[int], second: Iterable[int], factor: int) -> list[int]:
    """Return the hash of what stands at the same place in both."""
    return _join_pairs(zip(first, second, strict=False), factor)


def _list_sequences(items: list[int], longest: int) -> Iterator[list[int]]:
    """Yield the hashes of the n-grams of items, from 2-grams on."""
    grams = items
    for size in range(2, longest + 1):
        grams = _join_hashes(grams, items[size - 1 :], 0x01000193)
        yield grams


def _condense_classes(classes: list[int]) -> list[int]:
    """Return the classes without articles, and a run of unknown words as one: the skeleton of the sentence."""
    skeleton = [_START]
    for name in classes:
        if name != _ARTICLE and not (name == _UNKNOWN and skeleton[-1] == _UNKNOWN):
            skeleton.append(name)
    return [*skeleton, _END]


def _list_marks(sentence: MarkedSentence, size: int) -> Iterator[str]:
    """Yield what stands around the words: punctuation, list marks, place in the message, words of the title."""
    ending = sentence.masked.rstrip(" *_)\"'")[-1:]
    yield f"m kind {sentence.kind}"
    yield f"m tick {sentence.tick}"
    yield f"m end {ending if ending in '.?!:…。？！' else ''}"
    yield f"m place {'first' if sentence.index == 0 else 'later'}{' last' if sentence.is_last else ''}"
    yield f"m size {min(size // 3, 8)}"
    if CODE in sentence.masked:
        yield "m code"
    if QUOTE in sentence.masked:
        yield "m quote"
    title = list_words(sentence.title)[:_TITLE_WORDS]
    yield f"m title {bool(title)}"
    yield from map("t {}".format, title)
    yield from map("t {} {}".format, title, title[1:])
    classes = _name_classes(sentence.title, sentence.language)
    yield from map("t class {}".format, classes)
    # `How it works` and `It works` are different titles.
    yield f"t classes {' '.join(classes)}"
    # What stands beside `The disk is full.` tells whether it is a finding: `I looked at the log.`
    yield from _list_context("before", sentence.previous, sentence.language)
    yield from _list_context("after", sentence.following, sentence.language)


def _list_context(place: str, text: str, language: str) -> Iterator[str]:
    """Yield the classes of words in a neighbour of the sentence, and how it ends."""
    if text:
        yield from (f"c {place} {name}" for name in _name_classes(text, language))
        yield f"c {place} end {text.rstrip(' *_)')[-1:]}"


@lru_cache(maxsize=64)
def _name_classes(text: str, language: str) -> tuple[str, ...]:
    """Return the classes of words in a text in order of their names, without those that say nothing about mood."""
    if language in _PIECEWISE:
        return tuple(sorted(set(_find_pieces(text, language))))
    return tuple(sorted({_read_class(word, language) for word in list_words(text)} - _COMMON_CLASSES - {"x"}))
