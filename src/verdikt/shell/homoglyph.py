"""Disguised program names: letters of other scripts that look like ASCII, wildcards that match a program."""

import unicodedata

from verdikt.knowledge import list_role
from verdikt.shell.wildcard import is_match

# Letters that NFKD does not map to ASCII, by their looks: Cyrillic, Greek, Armenian, small capitals, and dashes,
# slashes and dots.
_HOMOGLYPHS = str.maketrans(
    "аеорсухіјѕԁһкмтвнգոսցѵԝɡıℓαορνικτυвеτᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ‐‑‒–—−⁃∕⁄⧸／․。",
    "aeopcyxijsdhkmtbhqnugvwgilaopviktubetabcdefghijklmnoprstuvwyz-------////..",
)
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u2061\u2062\u2063\u2064\u00a0\u2007\u202f\u3000")


def fold_lookalikes(text: str) -> str:
    """Return a text with each letter as the ASCII letter that it looks like; the others stay as they are."""
    plain = unicodedata.normalize("NFKD", text).translate(_HOMOGLYPHS)
    return "".join(letter for letter in plain if letter not in _INVISIBLE and not unicodedata.combining(letter))


def find_lookalike(name: str) -> str:
    """Return the ASCII name that a name could be mistaken for; empty when there is none."""
    plain = fold_lookalikes(name).strip()
    return plain if plain.isascii() and plain and plain != name else ""


_SENSITIVE_PROGRAMS = list_role("sensitive")
# A pattern that matches more of them was hardly written to hide one.
_MAX_GUESSES = 3


def guess_programs(pattern: str) -> list[str]:
    """Return the programs that a pattern was probably written to hide: `/b?n/r?`, `/???/rm`, `r[m]`.

    There are none for a pattern in the project's own directories, or for one that matches all names.
    """
    directory, slash, name = pattern.rpartition("/")
    if (directory and directory[0] not in "/*?[") or not name.strip("*") or (not slash and not name.strip("?")):
        return []
    programs = [program for program in _SENSITIVE_PROGRAMS if is_match(name, program)]
    return [f"/usr/bin/{program}" if slash else program for program in programs[:_MAX_GUESSES]]
