"""Recipes of a makefile, as `make x` runs them with their prerequisites."""

import re
from posixpath import basename, dirname, normpath

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.option_parser import parse_permuted_options
from verdikt.shell.redirection import STDIN_NAMES, read_contents, resolve_path
from verdikt.shell.scope import Scope

# Generated makefiles have thousands of rules; the first ones tell what a target does.
_MAX_LINES = 200
_MAX_RULES = 60
_RULE = compile_lazily(r"^([^\s:#=][^:=#]*?)[ ]*::?(?!=)[ ]*(.*)$")
_VARIABLE = compile_lazily(r"^(?:export[ ]+|override[ ]+)?([A-Za-z_][\w.-]*)[ ]*(\?=|:=|::=|\+=|!=|=)[ ]*(.*)$")
_INCLUDE = compile_lazily(r"(?m)^(?:-|s)?include[ \t]+(.+)$")
_SHELL_FUNCTION = compile_lazily(r"\$[({]shell\s+([^(){}]*(?:[({][^(){}]*[)}][^(){}]*)*)[)}]")
_REFERENCE = compile_lazily(r"\$(?:\(([^()$]*)\)|\{([^{}$]*)\}|([^({]))")
_MAX_NESTED_REFERENCES = 5
_FUNCTION = compile_lazily(r"^([a-z]+)[ \t]+(.*)$")
_DRY_RUN_OPTIONS = frozenset(("-n", "--just-print", "--dry-run", "--recon", "-q", "--question"))
_INFORMATION_OPTIONS = frozenset(("-v", "--version", "-h", "--help"))


class _Makefile:
    """Rules and variables of a makefile, as far as a line-by-line reading shows them."""

    def __init__(self, text: str, directory: str) -> None:
        self.variables: dict[str, str] = {"SHELL": "/bin/sh", "MAKE": "make", "RM": "rm -f", "CURDIR": directory}
        self.rules: dict[str, tuple[list[str], list[str]]] = {}
        self.default_target = ""
        targets: list[str] = []
        for line in re.sub(r"\\\n[ \t]*", " ", text).splitlines()[:5000]:
            if line.startswith("\t"):
                for target in targets:
                    self.rules[target][1].append(line[1:])
                continue
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            variable = _VARIABLE.match(line)
            rule = None if variable else _RULE.match(line)
            if variable:
                self._set_variable(variable[1], variable[2], variable[3])
            elif rule:
                targets = self._add_rule(self.expand_variables(rule[1]).split(), rule[2])
            else:
                targets = []

    def _set_variable(self, name: str, op: str, value: str) -> None:
        if op == "?=" and name in self.variables:
            return
        self.variables[name] = f"{self.variables.get(name, '')} {value}".strip() if op == "+=" else value

    def _add_rule(self, targets: list[str], rule_body: str) -> list[str]:
        needs, _, recipe = rule_body.partition(";")
        for target in targets:
            before = self.rules.setdefault(target, ([], []))
            before[0].extend(self.expand_variables(needs.split("|")[0]).split())
            if recipe.strip():
                before[1].append(recipe)
            if not self.default_target and not target.startswith("."):
                self.default_target = target
        return targets

    def expand_variables(self, text: str, automatic_variables: dict[str, str] | None = None, depth: int = 0) -> str:
        """Return the text with variables expanded; `$(shell …)` becomes `$(…)`, other functions become unknown."""

        def expand_reference(reference: re.Match[str]) -> str:
            name = reference[1] or reference[2] or reference[3]
            # `$$` is a dollar for the shell; NUL keeps it from being expanded once more, and no makefile contains it.
            if name == "$":
                return "\0"
            if automatic_variables and name in automatic_variables:
                return automatic_variables[name]
            if name.startswith("shell "):
                return f"\0({name[6:]})"
            function = _FUNCTION.match(name)
            if function and (result := _call_function(function[1], function[2])) is not None:
                return result
            value = self.variables.get(name)
            if value is None and name == "HOME":
                return "\0{HOME}"
            if value is None or depth > 8:
                return UNKNOWN if name not in self.variables else ""
            return self.expand_variables(value, automatic_variables, depth + 1)

        text = text[:20_000]
        # From the inside out: `$(wildcard $(TOP)/out*)`.
        for _ in range(_MAX_NESTED_REFERENCES):
            expanded = _REFERENCE.sub(expand_reference, text)
            if expanded == text or "$" not in expanded:
                return expanded
            text = expanded
        return text


def _call_function(name: str, argument: str) -> str | None:
    """Return what a function of make makes of its argument; None for one that is not computed here."""
    if "$" in argument:
        return None
    words = argument.split()
    if name in ("wildcard", "strip", "sort", "realpath"):
        return " ".join(words)
    if name == "abspath":
        return " ".join(map(normpath, words))
    if name in ("addprefix", "addsuffix"):
        affix, _, listed = argument.partition(",")
        names = listed.split()
        return " ".join(affix.strip() + each if name == "addprefix" else each + affix.strip() for each in names)
    if name in ("dir", "notdir"):
        return " ".join((dirname(word) or ".") + "/" if name == "dir" else basename(word) for word in words)
    if name in ("firstword", "lastword"):
        return words[0 if name == "firstword" else -1] if words else ""
    return None


def trace_make(call: CommandCall) -> str | None:
    """Walk the recipes of the targets that `make` would build."""
    # `make SHELL='rm -rf x;'`: make runs this text for every line of a recipe.
    for word in call.words[1:]:
        if word.text.startswith("SHELL=") and (" " in word.text or "./" in word.text):
            call.walk_shell_text(word.text.removeprefix("SHELL="), inherit_stdin=False)
    options, words = parse_permuted_options(call.words, 1, call.valued_options)
    if any(option in _INFORMATION_OPTIONS for option, _ in options):
        return None
    value_by_option = {option: value for option, value in options if value is not None}
    scope = call.create_directory_scope(value_by_option.get("-C") or value_by_option.get("--directory"))
    text = _read_makefile(call, value_by_option, scope)
    for option, lines in value_by_option.items():
        # `--eva=…`: make reads its options as getopt_long does.
        if len(option) > len("--e") and "--eval".startswith(option):
            text = f"{lines.text}\n{text or ''}"
    if text is None:
        return None
    text = _add_included_files(call, text, scope)
    makefile = _Makefile(text, _find_directory(call, scope))
    _trace_shell_functions(call, makefile, text, scope)
    # A dry run reads the makefile, with what that runs.
    if any(option in _DRY_RUN_OPTIONS for option, _ in options):
        return None
    goals: list[str] = []
    for word in words:
        name, equals, value = word.text.partition("=")
        if equals and name.isidentifier():
            makefile.variables[name] = value
        else:
            goals.append(word.text)
    finished_goals: set[str] = set()
    for goal in goals or [makefile.default_target]:
        _trace_goal(call, makefile, goal, finished_goals, scope)
    return None


def _find_directory(call: CommandCall, scope: Scope) -> str:
    directory = resolve_path(call.walker, ".", scope) if call.walker.start_directory else "."
    return "." if UNKNOWN in directory else directory


def _read_makefile(call: CommandCall, value_by_option: dict[str, Word], scope: Scope) -> str | None:
    """Return the makefile that is used; None when its contents are not known."""
    chosen_file = value_by_option.get("-f") or value_by_option.get("--file") or value_by_option.get("--makefile")
    if chosen_file is not None:
        return call.frame.stdin if chosen_file.text in STDIN_NAMES else read_contents(call.walker, chosen_file, scope)
    texts = (read_contents(call.walker, Word(name), scope) for name in ("GNUmakefile", "makefile", "Makefile"))
    return next((text for text in texts if text is not None), None)


def _add_included_files(call: CommandCall, text: str, scope: Scope) -> str:
    """Return the makefile with the files that it includes, one level deep."""
    names = [name for line in _INCLUDE.findall(text)[:_MAX_RULES] for name in line.split("#")[0].split()]
    parts = [text]
    for name in names[:_MAX_RULES]:
        included = None if "$" in name or "*" in name else read_contents(call.walker, Word(name), scope)
        parts += [included] if included else []
    return "\n".join(parts)


def _trace_shell_functions(call: CommandCall, makefile: _Makefile, text: str, scope: Scope) -> None:
    """Walk the commands that make runs while it reads the makefile: `VERSION := $(shell …)`."""
    if "shell" not in text:
        return
    read = "\n".join(line for line in text.splitlines()[:5000] if not line.startswith("\t"))
    for command in _SHELL_FUNCTION.findall(read)[:_MAX_RULES]:
        if "make" not in call.frame.via:
            call.walk_shell_text(
                makefile.expand_variables(command).replace("\0", "$"),
                label="make",
                scope=Scope(scope),
                inherit_stdin=False,
            )


def _trace_goal(call: CommandCall, makefile: _Makefile, goal: str, finished_goals: set[str], scope: Scope) -> None:
    if goal in finished_goals or goal not in makefile.rules or len(finished_goals) > _MAX_RULES:
        return
    finished_goals.add(goal)
    needs, recipe = makefile.rules[goal]
    for need in needs:
        # Prerequisites first, as make does; a goal that is finished is not built again.
        _trace_goal(call, makefile, need, finished_goals, scope)
    special = {"@": goal, "<": needs[0] if needs else "", "^": " ".join(needs), "*": UNKNOWN, "?": " ".join(needs)}
    special |= {"@D": UNKNOWN, "@F": UNKNOWN, "<D": UNKNOWN, "<F": UNKNOWN}
    for line in recipe[:_MAX_LINES]:
        text = makefile.expand_variables(line.lstrip(" \t").lstrip("@-+"), special).replace("\0", "$")
        label = f"make {goal}"
        if label not in call.frame.via:
            call.walk_shell_text(text, label=label, scope=Scope(scope), inherit_stdin=False)
