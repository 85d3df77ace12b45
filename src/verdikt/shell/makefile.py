"""Recipes of a makefile: `make x`, with what it needs."""

import re

from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.invocation import Invocation
from verdikt.shell.option import permuted
from verdikt.shell.redirect import contents
from verdikt.shell.scope import Scope

_MOST_LINES = 200
_MOST_RULES = 60
_RULE = regex(r"^([^\s:#=][^:=#]*?)[ ]*::?(?!=)[ ]*(.*)$")
_VARIABLE = regex(r"^(?:export[ ]+|override[ ]+)?([A-Za-z_][\w.-]*)[ ]*(\?=|:=|::=|\+=|!=|=)[ ]*(.*)$")
_SHELL = regex(r"\$[({]shell\s+([^(){}]*(?:[({][^(){}]*[)}][^(){}]*)*)[)}]")
_MAKE_VALUED = (
    "f --file --makefile C --directory I --include-dir j --jobs l --load-average o --old-file W --what-if --eval"
)


_INPUT = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_DRY = frozenset(("-n", "--just-print", "--dry-run", "--recon", "-q", "--question", "-v", "--version", "-h", "--help"))


class _Makefile:
    """The rules and variables of a makefile, as far as a line-by-line reading gives them."""

    def __init__(self, text: str) -> None:
        self.variables: dict[str, str] = {"SHELL": "/bin/sh", "MAKE": "make", "RM": "rm -f", "CURDIR": "."}
        self.rules: dict[str, tuple[list[str], list[str]]] = {}
        self.first = ""
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
                self._set(variable[1], variable[2], variable[3])
            elif rule:
                targets = self._rule(self.expand(rule[1]).split(), rule[2])
            else:
                targets = []

    def _set(self, name: str, op: str, value: str) -> None:
        if op == "?=" and name in self.variables:
            return
        self.variables[name] = f"{self.variables.get(name, '')} {value}".strip() if op == "+=" else value

    def _rule(self, targets: list[str], rest: str) -> list[str]:
        needs, _, recipe = rest.partition(";")
        for target in targets:
            before = self.rules.setdefault(target, ([], []))
            before[0].extend(self.expand(needs.split("|")[0]).split())
            if recipe.strip():
                before[1].append(recipe)
            if not self.first and not target.startswith("."):
                self.first = target
        return targets

    def expand(self, text: str, special: dict[str, str] | None = None, depth: int = 0) -> str:
        """Variables put in; functions of make are unknown, except `$(shell …)`, which becomes `$(…)`."""

        def one(found: re.Match[str]) -> str:
            name = found[1] or found[2] or found[3]
            if name == "$":
                return "\0"
            if special and name in special:
                return special[name]
            if name.startswith("shell "):
                return f"\0({name[6:]})"
            value = self.variables.get(name)
            if value is None or depth > 8:
                return UNKNOWN if name not in self.variables else ""
            return self.expand(value, special, depth + 1)

        return re.sub(r"\$(?:\(([^()]*)\)|\{([^{}]*)\}|(.))", one, text[:20_000])


def make(call: Invocation) -> str | None:
    """Goes inside the recipes of the targets that `make` would make."""
    for word in call.words[1:]:
        if word.text.startswith("SHELL=") and " " in word.text:
            call.shell(word.text.removeprefix("SHELL="), stdin=False)
    given, words = permuted(call.words, 1, _MAKE_VALUED)
    if any(option in _DRY for option, _ in given):
        return None
    chosen = {option: value for option, value in given if value is not None}
    scope = call.within(chosen.get("-C") or chosen.get("--directory"))
    text = _text(call, chosen, scope)
    if "--eval" in chosen:
        text = f"{chosen['--eval'].text}\n{text or ''}"
    if text is None:
        return None
    makefile = _Makefile(text)
    _asked(call, makefile, text, scope)
    goals: list[str] = []
    for word in words:
        name, equals, value = word.text.partition("=")
        if equals and name.isidentifier():
            makefile.variables[name] = value
        else:
            goals.append(word.text)
    done: set[str] = set()
    for goal in goals or [makefile.first]:
        _make_goal(call, makefile, goal, done, scope)
    return None


def _text(call: Invocation, chosen: dict[str, Word], scope: Scope) -> str | None:
    """The makefile that is read, where we can see it."""
    named = chosen.get("-f") or chosen.get("--file") or chosen.get("--makefile")
    if named is not None:
        return call.frame.stdin if named.text in _INPUT else contents(call.walker, named, scope)
    found = (contents(call.walker, Word(name), scope) for name in ("GNUmakefile", "makefile", "Makefile"))
    return next((text for text in found if text is not None), None)


def _asked(call: Invocation, makefile: _Makefile, text: str, scope: Scope) -> None:
    """What make asks a shell while it reads: `VERSION := $(shell …)`."""
    if "shell" not in text:
        return
    read = "\n".join(line for line in text.splitlines()[:5000] if not line.startswith("\t"))
    for command in _SHELL.findall(read)[:_MOST_RULES]:
        if "make" not in call.frame.via:
            call.shell(makefile.expand(command).replace("\0", "$"), label="make", scope=Scope(scope), stdin=False)


def _make_goal(call: Invocation, makefile: _Makefile, goal: str, done: set[str], scope: Scope) -> None:
    if goal in done or goal not in makefile.rules or len(done) > _MOST_RULES:
        return
    done.add(goal)
    needs, recipe = makefile.rules[goal]
    for need in needs:
        _make_goal(call, makefile, need, done, scope)
    special = {"@": goal, "<": needs[0] if needs else "", "^": " ".join(needs), "*": UNKNOWN, "?": " ".join(needs)}
    special |= {"@D": UNKNOWN, "@F": UNKNOWN, "<D": UNKNOWN, "<F": UNKNOWN}
    for line in recipe[:_MOST_LINES]:
        text = makefile.expand(line.lstrip(" \t").lstrip("@-+"), special).replace("\0", "$")
        label = f"make {goal}"
        if label not in call.frame.via:
            call.shell(text, label=label, scope=Scope(scope), stdin=False)
