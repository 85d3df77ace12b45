"""Recipes of a justfile, as `just x` runs them with their dependencies."""

import re
from itertools import takewhile

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.option_parser import parse_options
from verdikt.shell.redirection import read_contents
from verdikt.shell.scope import Scope

_MAX_LINES = 200
_MAX_RECIPES = 60
_MAX_IMPORTS = 8
_SETTING = compile_lazily(r"(?:export\s+)?(\w[\w-]*)\s*:=\s*(.*)$")
_COMMENT = compile_lazily(r"^((?:[^\"'#]|\"[^\"]*\"|'[^']*')*)#.*$")
_IMPORT = compile_lazily(r"(?m)^import\??\s+[\"']([^\"'\n]+)[\"']")
_TERM = compile_lazily(r"\s*(?:\"([^\"]*)\"|'([^']*)'|(\w[\w-]*)(?:\(\s*([^()]*)\))?)\s*")
_DIRECTORIES = {
    "home_directory": "$HOME",
    **dict.fromkeys(("justfile_directory", "invocation_directory", "source_directory"), "."),
    **dict.fromkeys(("justfile_dir", "invocation_dir", "source_dir"), "."),
}
"""Functions that return a directory, as a shell writes it."""
_VARIABLE_FUNCTIONS = ("env", "env_var", "env_var_or_default")
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
            imported = (read_contents(call.walker, Word(name), scope) for name in _IMPORT.findall(text)[:_MAX_IMPORTS])
            recipes = _Justfile("\n".join([text, *filter(None, imported)]))
            words = [word.text for word in call.words[at:]]
            # After the name of a recipe such a word is its argument.
            given = [*takewhile(lambda text: "=" in text, words)]
            recipes.variables |= dict(text.split("=", 1) for text in given)
            names = words[len(given) :] or list(recipes.recipe_lines)[:1]
            recipes.trace_recipes(call, names, scope)
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
                self.variables[setting[1]] = self._evaluate(_COMMENT.sub(r"\1", setting[2]).strip())
            elif head := _RECIPE_HEADER.match(line):
                self.recipe_lines[head[1]] = lines = []
                self.parameters[head[1]] = head[2].split()
                self.dependencies[head[1]] = [need for need in head[3].split() if re.match(r"\w", need)]

    def _evaluate(self, expression: str) -> str:
        """Return what an expression stands for: strings, names and functions, joined by `/` and `+`."""
        whole, position = "", 0
        while (term := _TERM.match(expression, position)) is not None:
            whole += self._evaluate_term(term)
            position = term.end()
            sign = expression[position : position + 1]
            if sign not in ("/", "+"):
                break
            whole += "/" if sign == "/" else ""
            position += 1
        # A condition, a command between backquotes, a text of several lines: nothing that is followed.
        return whole if position >= len(expression) > 0 else expression.strip("\"'")

    def _evaluate_term(self, term: "re.Match[str]") -> str:
        if term[3] is None:
            return term[1] if term[1] is not None else term[2]
        if term[4] is None:
            return self.variables.get(term[3], UNKNOWN)
        words = [word.strip().strip("\"'") for word in term[4].split(",")]
        if term[3] in _VARIABLE_FUNCTIONS:
            # In the shell that runs the recipe the variable has the same value.
            return f"${{{words[0]}:-{words[1]}}}" if len(words) > 1 else f"${{{words[0]}}}"
        return _DIRECTORIES.get(term[3], UNKNOWN)

    def trace_recipes(self, call: CommandCall, words: list[str], scope: Scope) -> None:
        """Walk the recipes that the words of a command name one after the other, each with its arguments."""
        while words and words[0] in self.recipe_lines:
            parameters = self.parameters[words[0]]
            takes_all = any(parameter[:1] in "+*" for parameter in parameters)
            count = len(words) if takes_all else 1 + len(parameters)
            self.trace_recipe(call, words[0], words[1:count], scope)
            words = words[count:]

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
