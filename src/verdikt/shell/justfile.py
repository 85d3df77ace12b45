"""Recipes of a justfile: `just x`, with what it needs."""

import re

from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.invocation import Invocation
from verdikt.shell.option import options
from verdikt.shell.redirect import contents
from verdikt.shell.scope import Scope

_MOST_LINES = 200
_MOST_RECIPES = 60
_SETTING = regex(r"(?:export\s+)?(\w[\w-]*)\s*:=\s*(.*)$")
_HEAD = regex(r"@?(\w[\w-]*)((?:\s+[^:]+?)?)\s*:(?!=)\s*(.*)$")


def just(call: Invocation) -> str | None:
    """Goes inside the recipes of a justfile."""
    given, at = options(call.words, 1, "f --justfile d --working-directory --set --shell")
    if any(
        option in ("-n", "--dry-run", "-l", "--list", "-s", "--show", "--summary", "--version") for option, _ in given
    ):
        return None
    for place, word in enumerate(call.words):
        if word.text in ("-c", "--command"):
            return call.run(call.words[place + 1 :], label="just --command")
    chosen = {option: value for option, value in given if value is not None}
    scope = call.within(chosen.get("-d") or chosen.get("--working-directory"))
    named = chosen.get("-f") or chosen.get("--justfile")
    for file in [named] if named else [Word("justfile"), Word("Justfile"), Word(".justfile")]:
        text = contents(call.walker, file, scope)
        if text is not None:
            recipes = _Justfile(text)
            names = [word.text for word in call.words[at:] if "=" not in word.text] or list(recipes.lines)[:1]
            if names:
                recipes.run(call, names[0], names[1:], scope)
            break
    return None


class _Justfile:
    """The recipes and variables of a justfile, as far as a line-by-line reading gives them."""

    def __init__(self, text: str) -> None:
        self.settings: dict[str, str] = {}
        self.parameters: dict[str, list[str]] = {}
        self.needs: dict[str, list[str]] = {}
        self.lines: dict[str, list[str]] = {}
        self.done: set[str] = set()
        lines: list[str] = []
        for line in text.splitlines()[:5000]:
            if line[:1] in (" ", "\t"):
                lines.append(line.strip())
            elif setting := _SETTING.match(line):
                self.settings[setting[1]] = setting[2].strip().strip("\"'")
            elif head := _HEAD.match(line):
                self.lines[head[1]] = lines = []
                self.parameters[head[1]] = head[2].split()
                self.needs[head[1]] = [need for need in head[3].split() if re.match(r"\w", need)]

    def run(self, call: Invocation, name: str, arguments: list[str], scope: Scope) -> None:
        """Runs a recipe after what it needs, each once."""
        label = f"just {name}"
        if name in self.done or name not in self.lines or len(self.done) > _MOST_RECIPES or label in call.frame.via:
            return
        self.done.add(name)
        for need in self.needs[name]:
            self.run(call, need, [], scope)
        lines = self._filled(name, arguments)
        if lines and lines[0].startswith("#!"):
            lines = ["\n".join(lines)]
        for line in lines:
            call.shell(line.lstrip("@-"), label=label, scope=Scope(scope), stdin=False)

    def _filled(self, name: str, arguments: list[str]) -> list[str]:
        known = dict(self.settings)
        for place, parameter in enumerate(self.parameters[name]):
            bare, _, fallback = parameter.lstrip("+*$").partition("=")
            known[bare] = arguments[place] if place < len(arguments) else fallback.strip("\"'") or UNKNOWN
        lines = self.lines[name][:_MOST_LINES]
        return [re.sub(r"\{\{\s*(.*?)\s*\}\}", lambda found: known.get(found[1], UNKNOWN), line) for line in lines]
