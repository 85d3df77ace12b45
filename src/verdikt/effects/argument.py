"""A command's words, sorted into flags and operands."""

from __future__ import annotations

from functools import cache

from verdikt.shell.command import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@cache
def words(text: str) -> frozenset[str]:
    """A table's `"-r -R --recursive"` as a set."""
    return frozenset(text.split())


@cache
def _plan(names: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The flags that count by themselves, and the combinations and words that must be looked for."""
    every = names.split()
    plain = frozenset(name for name in every if name[0] == "-" and "+" not in name)
    return plain, tuple(name for name in every if name not in plain)


class Arguments:
    """Flags (with their values) and operands of one command line, in order.

    `values` names the flags that take a value; with `single`, one dash begins a long name (`-auto-approve`).
    """

    __slots__ = ("_present", "flags", "operands", "single")

    def __init__(self, argv: Sequence[Word], values: frozenset[str] = frozenset(), *, single: bool = False) -> None:
        self.flags = flags = []  # type: list[tuple[str, Word | None]]
        self.operands = operands = []  # type: list[Word]
        self.single = single
        self._present: set[str] | None = None
        wants = ""
        for position, word in enumerate(argv):
            text = word.text
            if wants:
                flags.append((wants, word))
                wants = ""
            elif text[:1] != "-" or text == "-":
                operands.append(word)
            elif text in values:
                wants = text
            elif len(text) == 2:
                if text == "--":
                    operands.extend(argv[position + 1 :])
                    break
                flags.append((text, None))
            elif single or text[1] == "-":
                self._long(text, word)
            else:
                wants = self._cluster(text, word, values)
        if wants:
            flags.append((wants, None))

    def _long(self, text: str, word: Word) -> None:
        name, equals, value = text.partition("=")
        self.flags.append((name, Word(value, word.raw, word.glob) if equals else None))

    def _cluster(self, text: str, word: Word, values: frozenset[str]) -> str:
        for index in range(1, len(text)):
            flag = "-" + text[index]
            if flag in values:
                rest = text[index + 1 :]
                if not rest:
                    return flag
                self.flags.append((flag, Word(rest.removeprefix("="), word.raw, word.glob)))
                return ""
            self.flags.append((flag, None))
        return ""

    def has(self, names: str) -> bool:
        """Whether any of these flags is there; `-r+-f` wants both; a word without a dash is looked for among the operands.

        A long flag may be shortened (`--recurs`), as GNU programs allow; `--force` is not short for `--force-with-lease`.
        """
        present = self._present
        if present is None:
            present = self._present = {flag for flag, _ in self.flags}
        plain, rest = _plan(names)
        if not present.isdisjoint(plain):
            return True
        for option in rest:
            if all(self._one(name) for name in option.split("+")):
                return True
        return any(len(flag) > 4 and flag[1] == "-" and self._short(flag, plain) for flag in present)

    def _one(self, name: str) -> bool:
        if name[0] != "-":
            return any(operand.text.lower() == name for operand in self.operands)
        return any(flag == name or self._short(flag, (name,)) for flag, _ in self.flags)

    @staticmethod
    def _short(flag: str, names: Iterable[str]) -> bool:
        """Whether a flag is one of these, shortened inside a word."""
        return len(flag) > 4 and any(
            name.startswith(flag) and name != flag and name[len(flag)] != "-" for name in names
        )

    def value(self, names: str) -> Word | None:
        """The last value given to any of these flags."""
        wanted = words(names)
        for flag, value in reversed(self.flags):
            if flag in wanted and value is not None:
                return value
        return None

    def all(self, names: str) -> list[Word]:
        """Every value given to any of these flags."""
        wanted = words(names)
        return [value for flag, value in self.flags if flag in wanted and value is not None]

    def pick(self, on: str) -> list[Word]:
        """The words that a table's `on` names.

        `*` all operands, `0` the first, `-1` the last, `1:` all but the first, `:-1` all but the last,
        `-o --output` values of flags, `of=` values of `key=value` operands; `|` joins several.
        """
        if on == "*":
            return self.operands
        if "|" in on:
            return [word for part in on.split("|") for word in self.pick(part)]
        if on[0] == "-" and not on[1:].isdigit():
            return self.all(on)
        if on.endswith("="):
            return [Word(w.text[len(on) :], w.raw, w.glob) for w in self.operands if w.text.startswith(on)]
        if ":" in on:
            start, _, stop = on.partition(":")
            return self.operands[int(start) if start else None : int(stop) if stop else None]
        index = int(on)
        return self.operands[index : index + 1 or None] if -len(self.operands) <= index else []
