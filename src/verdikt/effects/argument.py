"""A command's words, sorted into flags and operands."""

from collections.abc import Sequence
from functools import cache

from verdikt.shell.command import Word


@cache
def words(text: str) -> frozenset[str]:
    """A table's `"-r -R --recursive"` as a set."""
    return frozenset(text.split())


class Arguments:
    """Flags (with their values) and operands of one command line, in order.

    `values` names the flags that take a value; with `single`, one dash begins a long name (`-auto-approve`).
    """

    __slots__ = ("flags", "operands", "single")

    def __init__(self, argv: Sequence[Word], values: frozenset[str] = frozenset(), *, single: bool = False) -> None:
        self.flags: list[tuple[str, Word | None]] = []
        self.operands: list[Word] = []
        self.single = single
        wants = ""
        for position, word in enumerate(argv):
            text = word.text
            if wants:
                self.flags.append((wants, word))
                wants = ""
            elif text == "--":
                self.operands.extend(argv[position + 1 :])
                break
            elif len(text) < 2 or text[0] != "-":
                self.operands.append(word)
            elif single or text[1] == "-":
                wants = self._long(text, word, values)
            else:
                wants = self._cluster(text, word, values)
        if wants:
            self.flags.append((wants, None))

    def _long(self, text: str, word: Word, values: frozenset[str]) -> str:
        name, equals, value = text.partition("=")
        if equals:
            self.flags.append((name, Word(value, word.raw, word.glob)))
        elif name in values:
            return name
        else:
            self.flags.append((name, None))
        return ""

    def _cluster(self, text: str, word: Word, values: frozenset[str]) -> str:
        if text in values:
            return text
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
        return any(all(self._one(name) for name in option.split("+")) for option in words(names))

    def _one(self, name: str) -> bool:
        if name[0] != "-":
            return any(operand.text.lower() == name for operand in self.operands)
        for flag, _ in self.flags:
            if flag == name:
                return True
            if len(flag) > 4 and flag.startswith("--") and name.startswith(flag) and name[len(flag)] != "-":
                return True
        return False

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
