"""Find words that delete together with a place outside the project."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from posixpath import dirname
from typing import TYPE_CHECKING

from verdikt.effects.any_language.removal_lines import expand_commands
from verdikt.effects.any_language.text_reader import MAX_DISTANCE, Meeting
from verdikt.effects.any_language.units import Token, Unit
from verdikt.effects.any_language.values import UNKNOWN_PART
from verdikt.effects.any_language.word_families import (
    COLLECTIONS,
    DEFINING,
    GATHERING,
    IMPLICIT_NAMES,
    TREE_WORDS,
    TRUE_WORDS,
    Family,
    find_families,
    split_words,
)
from verdikt.effects.target import is_build_output, is_cache
from verdikt.model.effect import Zone

if TYPE_CHECKING:
    from verdikt.effects.any_language.text_reader import TextReader

_SYSTEM_DIRECTORIES = ("/etc/", "/usr/", "/lib/", "/boot/", "/System/", "/Library/")


class LossFinder:
    """Finds what the units of one text delete."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader

    def find(self, unit: Unit, tokens: list[Token]) -> Meeting | None:
        """Return what a unit deletes."""
        tokens = expand_commands(tokens)
        own_names = self._reader.deleting_names
        words = [
            (index, token)
            for index, token in enumerate(tokens)
            if token.kind == "name"
            and (find_families(token.text) & {Family.DELETE, Family.CLEAR} or token.text in own_names)
        ]
        for index, token in words:
            near = tokens[max(0, index - MAX_DISTANCE) : index + MAX_DISTANCE]
            if self._is_flag(tokens, index):
                place = self._find_lost_place(near) if unit.is_record else self._find_sibling_place(unit)
                place = place or self._find_named_place(token.text)
            elif self._is_deleting(tokens, index):
                place = self._find_lost_place(near) or self._find_opener_place(unit, near)
            else:
                continue
            if place:
                return Meeting(self._reader.count_line(token), "fs.delete.tree", place)
        if not words and (place := self._find_removed_by_line(tokens)):
            return Meeting(self._reader.count_line(tokens[0]), "fs.delete.tree", place)
        return None if words else self._find_deleting_opener(unit, tokens)

    def _find_removed_by_line(self, tokens: Sequence[Token]) -> str:
        """Return the place that goes where a program is started by a line that was put together before."""
        if not any(token.kind == "name" and Family.START in find_families(token.text) for token in tokens):
            return ""
        values = [self._reader.evaluator.names.get(token.text) for token in tokens if token.kind == "name"]
        places = [place for value in values if value is not None and value.removes for place in value.places]
        return next((place for place in places if self._is_precious(place, TREE_WORDS)), "")

    def _is_deleting(self, tokens: Sequence[Token], index: int) -> bool:
        """Return whether a word deletes what it is used with: a call, a command, or a list that is cleared later."""
        token = tokens[index]
        families = find_families(token.text)
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        owner = tokens[index - 2].text if index > 1 and tokens[index - 1].text in (".", "->", "::") else ""
        if Family.DELETE in families or token.text in self._reader.deleting_names:
            is_definition = index > 0 and tokens[index - 1].text in DEFINING
            return not is_definition and not COLLECTIONS.intersection(split_words(owner)[-1:])
        words = split_words(token.text)
        names_place = any(Family.PLACE in find_families(word) for word in words)
        if following in ("=", "+=", ":=", "?=", "<<", ":"):
            # A setting: `CLEAN_DIRS += …`, `clean: [../x]`, and not `clean = true`, which is a flag.
            return names_place or token.text.isupper() or following != "="
        if following == "." and index + 2 < len(tokens) and token.text.isupper():
            return tokens[index + 2].text in GATHERING
        return following == "(" and names_place

    @staticmethod
    def _is_flag(tokens: Sequence[Token], index: int) -> bool:
        """Return whether a word is a setting that is switched on: `emptyOutDir: true`."""
        following = [token.text.strip("\"'") for token in tokens[index + 1 : index + 3]]
        return len(following) == 2 and following[0] in (":", "=", "=>") and following[1] in TRUE_WORDS

    def _find_sibling_place(self, unit: Unit) -> str:
        """Return a place outside the project that a setting beside this one holds."""
        position = self._reader.units.index(unit)
        for step in (-1, 1):
            for other in self._reader.units[position + step :: step][:12] if position + step >= 0 else ():
                if other.opener is not unit.opener or other.indent < unit.indent or other.tokens[0].text == "[":
                    break  # another block, or another section
                if other.indent == unit.indent and other.tokens[0].kind in ("name", "string"):
                    key = other.tokens[0].content
                    if Family.PLACE in find_families(key) and (place := self._find_lost_place(other.tokens)):
                        return place
        return ""

    def _find_named_place(self, flag: str) -> str:
        """Return the place of the setting that a flag is about: `outDir` for `emptyOutDir`, wherever it stands."""
        words = [word for word in split_words(flag) if not find_families(word) & {Family.DELETE, Family.CLEAR}]
        for unit in self._reader.units if words else ():
            for index, token in enumerate(unit.tokens):
                is_named = token.kind == "name" and list(split_words(token.text)) == words
                if is_named and (place := self._find_lost_place(unit.tokens[index : index + 24])):
                    return place
        return ""

    def _find_opener_place(self, unit: Unit, near: Sequence[Token]) -> str:
        """Return the place that the files of a block come from: `home.walk().forEach { it.delete() }`."""
        if unit.opener is None or not any(token.text in IMPLICIT_NAMES for token in near):
            return ""
        return self._find_lost_place(self._reader.gather(unit.opener))

    def _find_deleting_opener(self, unit: Unit, tokens: Sequence[Token]) -> Meeting | None:
        """Return what a block deletes that is given to a word for it: `delete { fileset(dir: …) }`."""
        opener = unit.opener
        if opener is None or any(token.text in DEFINING or token.text == "=>" for token in opener.tokens):
            return None
        for index, token in enumerate(opener.tokens):
            if token.kind != "name" or Family.DELETE not in find_families(token.text):
                continue
            if self._is_deleting(opener.tokens, index) and (place := self._find_lost_place(tokens)):
                return Meeting(self._reader.count_line(tokens[0]), "fs.delete.tree", place)
        return None

    def _find_lost_place(self, tokens: Sequence[Token]) -> str:
        """Return the first place among tokens that is outside the project and not made by a program for itself."""
        value = self._reader.evaluator.evaluate(tokens)
        names = {word for token in tokens if token.kind == "name" for word in split_words(token.text)}
        return next((place for place in value.places if self._is_precious(place, names)), "")

    def _is_precious(self, place: str, names: Collection[str]) -> bool:
        """Return whether a place is the person's or the machine's, and neither a cache nor a build."""
        if UNKNOWN_PART in place:
            return False
        parts = place.split("/")
        while len(parts) > 1 and "*" in parts[-1]:
            parts.pop()
        has_pattern = len(parts) < place.count("/") + 1
        path = self._reader.resolver.to_absolute("/".join(parts) or "/")
        root, home = self._reader.resolver.project_root, self._reader.resolver.facts.home.rstrip("/")
        if path.startswith(root + "/") or path in (root, "/", ""):
            return False
        if path == home or root.startswith(path + "/"):
            # A whole home: only where the words say that all in it goes, for a part of it may be unknown.
            return has_pattern or not TREE_WORDS.isdisjoint(names)
        zone = self._reader.resolver.find_zone(path)
        if zone is Zone.TEMP or is_cache(path) or path.startswith(tuple(self._reader.resolver.facts.temp)):
            return False
        if path.startswith(home + "/"):
            return not _is_own_state(path[len(home) + 1 :], zone)
        if path.startswith(_SYSTEM_DIRECTORIES):
            return "bin" not in parts and "sbin" not in parts  # a program by its path: `/usr/bin/rm`
        # Beside or above the project, where a climb leads to.
        above = next((place for place in _iter_above(root) if path.startswith(place + "/")), "")
        return bool(above) and not is_build_output(path[len(above) + 1 :])


def _iter_above(path: str) -> Iterator[str]:
    """Yield the directories above a path, without that of the machine."""
    while (path := dirname(path)) not in ("/", ""):
        yield path


def _is_own_state(path: str, zone: Zone) -> bool:
    """Return whether a path below the home is what a program keeps for itself: `.app/x`, `.config/app`, `x/build`."""
    if zone in (Zone.SECRET, Zone.PERSIST, Zone.GUARD):
        return False
    parts = path.split("/")
    if parts[0] in (".config", ".local", "Library", "AppData"):
        return len(parts) > 2 or (parts[0] == ".config" and len(parts) > 1)
    return parts[0].startswith(".") or is_build_output(path)
