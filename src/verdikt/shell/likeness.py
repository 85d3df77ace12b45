"""Letters of other scripts that look like ASCII: a name made of them is not the name it seems to be."""

import unicodedata

_LIKE = str.maketrans(
    "аеорсухіјѕԁһкмтвнգոսցѵԝɡıℓαορνικτυвеτ‐‑‒–—−⁃∕⁄⧸／․。",
    "aeopcyxijsdhkmtbhqnugvwgilaopviktubet-------////..",
)
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u2061\u2062\u2063\u2064\u00a0\u2007\u202f\u3000")


def lookalike(name: str) -> str:
    """The ASCII name that a name could be taken for; empty when there is none."""
    plain = unicodedata.normalize("NFKD", name).translate(_LIKE)
    plain = "".join(
        letter for letter in plain if letter not in _INVISIBLE and not unicodedata.combining(letter)
    ).strip()
    return plain if plain.isascii() and plain and plain != name else ""
