"""Classes of words that carry grammar and mood, read from `cues.txt`; what a class means is the same in all languages.

`will`, `werde`, `vais`, `буду` and `予定` are one class, so that what the model learns of plans in one language holds
in the others. A class decides nothing by itself: its sequences are features. `benchmarks/claims.py` prints what they
are worth. Each language has a list of its own because words collide: `no` denies in English and is `in the` in
Portuguese, `he` is a person in English and `have` in Spanish.
"""

import re
from functools import cache, lru_cache
from pathlib import Path

from verdikt.model.lazy_regex import compile_lazily

EASTERN = "\u1100"
"""The first character of the scripts whose words do not stand apart or carry their grammar as syllables."""

CUES_FILE = Path(__file__).with_name("cues.txt")

GERMAN_PARTICIPLE = compile_lazily(
    r"(?:ab|an|auf|aus|bei|bereit|da|durch|ein|fest|frei|heraus|hin|hinzu|hoch|los|mit|nach|um|vor|weg|weiter|wieder"
    r"|wiederher|zu|zurück|zusammen)?ge[a-zäöüß]{2,16}(?:t|en)"
    r"|(?:um|an|auf|nach|vor|aus|ein)?(?:be|er|ent|ver|zer|über)[a-zäöüß]{3,16}(?:t|oben|nannt|ndet)"
)

_DETECTED = 600
"""Number of characters from which the language of a message is told."""

LATIN = ("en", "de", "fr", "es", "pt")
_SCRIPTS = compile_lazily("([\u3040-\u30ff])|([\uac00-\ud7a3])|([\u3400-\u9fff])|([\u0400-\u04ff])")
_LANGUAGES_OF_SCRIPTS = ("ja", "ko", "zh", "ru")
_LETTERS = {"de": "äöüß", "fr": "œèêëîïûù", "es": "ñ¿¡", "pt": "ãõâôç"}
_TELLING_ENDINGS = {
    "en": ("ing", "ed", "ly", "th", "ck"),
    "de": ("ung", "en", "iert", "lich", "keit", "cht", "tz"),
    "fr": ("ée", "és", "eur", "eux", "aux", "ois", "que", "oir"),
    "es": ("ción", "dad", "ado", "ada", "ados", "adas", "jo", "ues", "illa", "ero", "é"),
    "pt": ("ão", "ões", "dade", "ado", "ada", "ados", "adas", "agem", "ou", "ei", "lho", "lha", "nha", "inho"),
}
_LATIN_WORD = compile_lazily(r"[a-zà-ÿœ]+(?:'[a-z]+)?")


@cache
def load_cues() -> dict[str, dict[str, list[str]]]:
    """Return language → class → words, with endings as `-ed`."""
    cues: dict[str, dict[str, list[str]]] = {}
    for line in CUES_FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            language, name, *words = line.split()
            cues.setdefault(language, {}).setdefault(name, []).extend(words)
    return cues


@cache
def get_classes(language: str) -> dict[str, str]:
    """Return word → class of one language."""
    classes = load_cues()[language]
    return {word.replace("_", " "): name for name, words in classes.items() for word in words if word[0] != "-"}


@cache
def get_endings(language: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return the endings of each class of one language that has any."""
    classes = load_cues()[language]
    endings = ((tuple(word[1:] for word in words if word[0] == "-"), name) for name, words in classes.items())
    return tuple(pair for pair in endings if pair[0])


@cache
def get_piece_pattern(language: str) -> re.Pattern[str]:
    """Return the pattern of a language's pieces; longer ones first: `できません` before `ません`."""
    return re.compile("|".join(sorted(map(re.escape, get_classes(language)), key=len, reverse=True)))


def detect_script(text: str) -> str:
    """Return the language whose script a text has letters of, though most may be Latin; empty without one."""
    if text.isascii():
        return ""
    # Kana decide over ideographs, which Japanese has as well.
    scripts = {match.lastindex or 0 for match in _SCRIPTS.finditer(text)}
    return _LANGUAGES_OF_SCRIPTS[min(scripts) - 1] if scripts else ""


def detect_latin_language(text: str) -> str:
    """Return the likeliest language of a text in Latin script, by its commonest words; English in doubt."""
    text = text[:_DETECTED].lower()
    words = _LATIN_WORD.findall(text)
    votes = [sum(column) for column in zip((0.0,) * len(LATIN), *map(_list_votes, words), strict=True)]
    for place, language in enumerate(LATIN):
        votes[place] += 2 * sum(map(text.count, _LETTERS.get(language, "")))
    return LATIN[votes.index(max(votes))]


@lru_cache(maxsize=4_096)
def _list_votes(word: str) -> tuple[float, ...]:
    """Return how much a word speaks for each language in Latin script."""
    return tuple((word in get_classes(name)) + word.endswith(_TELLING_ENDINGS[name]) / 2 for name in LATIN)
