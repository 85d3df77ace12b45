"""Parse PowerShell and cmd text into statements, commands, and the arguments of a cmdlet."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from verdikt.effects.arguments import word_set

_VALUE_FLAGS = word_set(
    "-path -literalpath -filter -include -exclude -erroraction -ea -credential -name -id -uri -outfile -method -body "
    "-infile -number -driveletter -logname -computername -value -itemtype -destination -argumentlist -filepath "
    "-taskname -action -trigger -scope -executionpolicy -username -password"
)


class WindowsCommand(NamedTuple):
    """A command: its name in lower case, and its words, each with whether it was quoted."""

    name: str
    words: tuple[tuple[str, bool], ...]


class CmdletArguments(NamedTuple):
    """The arguments of a cmdlet: operands, and flags in lower case with their values."""

    operands: list[str]
    flags: dict[str, str]

    def get_value(self, *names: str) -> str:
        """Return the value of the first of these flags that has one; empty if none has."""
        return next((self.flags[name] for name in names if self.flags.get(name)), "")

    @property
    def paths(self) -> list[str]:
        """The operands and the values of the flags for paths."""
        return self.operands + [self.flags[flag] for flag in ("-path", "-literalpath") if flag in self.flags]


def split_statements(text: str) -> list[str]:
    """Return the statements of a text, in order."""
    return [part for part in _split_unquoted(text, ";\n") if part.strip()]


def parse_commands(statement: str) -> Iterator[WindowsCommand]:
    """Yield the commands of a statement, including those in brackets and pipelines."""
    for part in _split_unquoted(statement, "|&(){}"):
        tokens = _split_words(part)
        # Skip what stands before a command: an assignment, a keyword, a type.
        while (
            tokens
            and (
                tokens[0][0] in (".", "=", "return", "if", "else", "try", "finally", "@")
                or tokens[0][0].startswith(("$", "[", ")"))
            )
            and not tokens[0][1]
        ):
            tokens = tokens[2:] if len(tokens) > 1 and tokens[1][0] in ("=", "+=") else tokens[1:]
        if tokens and tokens[0][0] and not tokens[0][0].startswith("-"):
            yield WindowsCommand(tokens[0][0].lower().removesuffix(".exe").rsplit("\\", 1)[-1], tuple(tokens[1:]))


def _split_unquoted(text: str, marks: str) -> list[str]:
    """Split text at these marks, where they are not quoted."""
    parts, start, quote = [], 0, ""
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in marks:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return parts


def _split_words(text: str) -> list[tuple[str, bool]]:
    return [
        (match[1] or match[2] or match[0].strip("'\""), match[0][:1] in "'\"")
        for match in re.finditer(r"\"([^\"]*)\"|'([^']*)'|[^\s,]+", text)
    ]


def strip_strings(text: str) -> str:
    """Return a text without its strings."""
    return re.sub(r"\"[^\"]*\"|'[^']*'", " ", text)


def parse_arguments(command: WindowsCommand) -> CmdletArguments:
    """Sort the words of a command into operands and flags."""
    operands: list[str] = []
    flags: dict[str, str] = {}
    pending_flag = ""
    for text, quoted in command.words:
        if pending_flag:
            flags[pending_flag] = text
            pending_flag = ""
        elif text.startswith("-") and not quoted and len(text) > 1:
            name, colon, value = text.lower().partition(":")
            flags[name] = value
            if not colon and name in _VALUE_FLAGS:
                pending_flag = name
        else:
            operands.append(text)
    return CmdletArguments(operands, flags)
