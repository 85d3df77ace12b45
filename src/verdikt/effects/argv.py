"""A command's words, sorted into flags and operands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from verdikt.shell.command import Word


@cache
def word_set(text: str) -> frozenset[str]:
    """A table's `"-r -R --recursive"` as a set."""
    return frozenset(text.split())


@cache
def _split_flag_names(flag_names: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The flags that count by themselves, and the combinations and words that must be looked for."""
    every = flag_names.split()
    plain = frozenset(name for name in every if name[0] == "-" and "+" not in name)
    return plain, tuple(name for name in every if name not in plain)


class Arguments:
    """Flags (with their values) and operands of one command line, in order.

    `values` names the flags that take a value; with `single`, one dash begins a long name (`-auto-approve`).
    """

    __slots__ = ("_flag_names", "flags", "operands", "single_dash")

    def __init__(
        self, argv: Sequence[Word], value_flags: frozenset[str] = frozenset(), *, single_dash: bool = False
    ) -> None:
        self.flags = flags = []  # type: list[tuple[str, Word | None]]
        self.operands = operands = []  # type: list[Word]
        self.single_dash = single_dash
        self._flag_names: set[str] | None = None
        wants = ""
        for position, word in enumerate(argv):
            text = word.text
            if wants:
                flags.append((wants, word))
                wants = ""
            elif text[:1] != "-" or text == "-":
                operands.append(word)
            elif text in value_flags:
                wants = text
            elif len(text) == 2:
                if text == "--":
                    operands.extend(argv[position + 1 :])
                    break
                flags.append((text, None))
            elif single_dash or text[1] == "-":
                self._add_long_flag(text, word)
            else:
                wants = self._add_short_flags(text, word, value_flags)
        if wants:
            flags.append((wants, None))

    def _add_long_flag(self, text: str, word: Word) -> None:
        name, equals, value = text.partition("=")
        self.flags.append((name, Word(value, word.raw, word.glob) if equals else None))

    def _add_short_flags(self, text: str, word: Word, value_flags: frozenset[str]) -> str:
        for index in range(1, len(text)):
            flag = "-" + text[index]
            if flag in value_flags:
                rest = text[index + 1 :]
                if not rest:
                    return flag
                self.flags.append((flag, Word(rest.removeprefix("="), word.raw, word.glob)))
                return ""
            self.flags.append((flag, None))
        return ""

    def has_flag(self, names: str) -> bool:
        """Whether any of these flags is there; `-r+-f` wants both; a word without a dash is looked for among the operands.

        A long flag may be shortened (`--recurs`), as GNU programs allow; `--force` is not short for `--force-with-lease`.
        """
        present = self._flag_names
        if present is None:
            present = self._flag_names = {flag for flag, _ in self.flags}
        plain, rest = _split_flag_names(names)
        if not present.isdisjoint(plain):
            return True
        for option in rest:
            if all(self._has_option(name) for name in option.split("+")):
                return True
        return any(len(flag) > 4 and flag[1] == "-" and self._is_abbreviation(flag, plain) for flag in present)

    def _has_option(self, name: str) -> bool:
        if name[0] != "-":
            return any(operand.text.lower() == name for operand in self.operands)
        return any(flag == name or self._is_abbreviation(flag, (name,)) for flag, _ in self.flags)

    @staticmethod
    def _is_abbreviation(flag: str, names: Iterable[str]) -> bool:
        """Whether a flag is one of these, shortened inside a word."""
        return len(flag) > 4 and any(
            name.startswith(flag) and name != flag and name[len(flag)] != "-" for name in names
        )

    def get_value(self, names: str) -> Word | None:
        """The last value given to any of these flags."""
        wanted = word_set(names)
        for flag, value in reversed(self.flags):
            if flag in wanted and value is not None:
                return value
        return None

    def get_values(self, names: str) -> list[Word]:
        """Every value given to any of these flags."""
        wanted = word_set(names)
        return [value for flag, value in self.flags if flag in wanted and value is not None]

    def select_words(self, selector: str) -> list[Word]:
        """The words that a table's `on` names.

        `*` all operands, `0` the first, `-1` the last, `1:` all but the first, `:-1` all but the last,
        `-o --output` values of flags, `of=` values of `key=value` operands; `|` joins several.
        """
        if selector == "*":
            return self.operands
        if "|" in selector:
            return [word for part in selector.split("|") for word in self.select_words(part)]
        if selector[0] == "-" and not selector[1:].isdigit():
            return self.get_values(selector)
        if selector.endswith("="):
            return [Word(w.text[len(selector) :], w.raw, w.glob) for w in self.operands if w.text.startswith(selector)]
        if ":" in selector:
            start, _, stop = selector.partition(":")
            return self.operands[int(start) if start else None : int(stop) if stop else None]
        index = int(selector)
        return self.operands[index : index + 1 or None] if -len(self.operands) <= index else []
