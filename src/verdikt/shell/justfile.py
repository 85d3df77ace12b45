"""Recipes of a justfile, as `just x` runs them with their dependencies."""

import re

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.option_parser import parse_options
from verdikt.shell.redirection import read_contents
from verdikt.shell.scope import Scope

_MAX_LINES = 200
_MAX_RECIPES = 60
_SETTING = compile_lazily(r"(?:export\s+)?(\w[\w-]*)\s*:=\s*(.*)$")
_RECIPE_HEADER = compile_lazily(r"@?(\w[\w-]*)((?:\s+[^:]+?)?)\s*:(?!=)\s*(.*)$")


def trace_just(call: CommandCall) -> str | None:
    """Walk the recipes that `just` would run."""
    options, at = parse_options(call.words, 1, call.valued_options)
    if any(
        option in ("-n", "--dry-run", "-l", "--list", "-s", "--show", "--summary", "--version") for option, _ in options
    ):
        return None
    for index, word in enumerate(call.words):
        if word.text in ("-c", "--command"):
            return call.walk_command(call.words[index + 1 :], label="just --command")
    value_by_option = {option: value for option, value in options if value is not None}
    scope = call.create_directory_scope(value_by_option.get("-d") or value_by_option.get("--working-directory"))
    chosen_file = value_by_option.get("-f") or value_by_option.get("--justfile")
    for file in [chosen_file] if chosen_file else [Word("justfile"), Word("Justfile"), Word(".justfile")]:
        text = read_contents(call.walker, file, scope)
        if text is not None:
            recipes = _Justfile(text)
            names = [word.text for word in call.words[at:] if "=" not in word.text] or list(recipes.recipe_lines)[:1]
            if names:
                recipes.trace_recipe(call, names[0], names[1:], scope)
            break
    return None


class _Justfile:
    """Recipes and variables of a justfile, as far as a line-by-line reading shows them."""

    def __init__(self, text: str) -> None:
        self.variables: dict[str, str] = {}
        self.parameters: dict[str, list[str]] = {}
        self.dependencies: dict[str, list[str]] = {}
        self.recipe_lines: dict[str, list[str]] = {}
        self.finished_recipes: set[str] = set()
        lines: list[str] = []
        for line in text.splitlines()[:5000]:
            if line[:1] in (" ", "\t"):
                lines.append(line.strip())
            elif setting := _SETTING.match(line):
                self.variables[setting[1]] = setting[2].strip().strip("\"'")
            elif head := _RECIPE_HEADER.match(line):
                self.recipe_lines[head[1]] = lines = []
                self.parameters[head[1]] = head[2].split()
                self.dependencies[head[1]] = [need for need in head[3].split() if re.match(r"\w", need)]

    def trace_recipe(self, call: CommandCall, name: str, arguments: list[str], scope: Scope) -> None:
        """Walk a recipe after its dependencies, each once."""
        label = f"just {name}"
        if (
            name in self.finished_recipes
            or name not in self.recipe_lines
            or len(self.finished_recipes) > _MAX_RECIPES
            or label in call.frame.via
        ):
            return
        self.finished_recipes.add(name)
        for need in self.dependencies[name]:
            self.trace_recipe(call, need, [], scope)
        lines = self._substitute_parameters(name, arguments)
        # A recipe with a shebang is one script; otherwise each line has a shell of its own.
        if lines and lines[0].startswith("#!"):
            lines = ["\n".join(lines)]
        for line in lines:
            call.walk_shell_text(line.lstrip("@-"), label=label, scope=Scope(scope), inherit_stdin=False)

    def _substitute_parameters(self, name: str, arguments: list[str]) -> list[str]:
        known = dict(self.variables)
        for index, parameter in enumerate(self.parameters[name]):
            bare, _, fallback = parameter.lstrip("+*$").partition("=")
            known[bare] = arguments[index] if index < len(arguments) else fallback.strip("\"'") or UNKNOWN
        lines = self.recipe_lines[name][:_MAX_LINES]
        return [
            re.sub(r"\{\{\s*(.*?)\s*\}\}", lambda reference: known.get(reference[1], UNKNOWN), line) for line in lines
        ]
