"""Statements → the commands they would run, in order."""

import re
from collections.abc import Callable, Mapping

from verdikt.shell import builtin, escape, nest, redirect
from verdikt.shell.command import UNKNOWN, Code, Word
from verdikt.shell.draft import Draft
from verdikt.shell.expand import DEEPEST, Expander, plain
from verdikt.shell.frame import Frame
from verdikt.shell.invocation import Invocation
from verdikt.shell.lexer import TARGET, WORD, Lexer
from verdikt.shell.likeness import lookalike
from verdikt.shell.output import constant_output
from verdikt.shell.scope import Pattern, Scope, known_environment
from verdikt.shell.statement import Branch, Function, Group, Loop, Piped, Sequence, Simple, Statement
from verdikt.shell.syntax import parse

_DEEPEST = 24
_MOST_VALUES = 32
_MOST_COMMANDS = 20_000
_MOST_STEPS = 100_000
_MOST_TURNS = 400
_LONGEST_INNER = 1 << 20
_MOST_READINGS = 5
_ASSIGNED = re.compile(
    r"\b([A-Za-z_]\w*)(?:\[[^\]]{0,200}\])?\+?=|\b(?:read|mapfile|readarray|getopts|unset)\b([^\n;|&]{0,200})|\(\(([^)]{0,200})\)\)"
)
_PROGRAM = re.compile(r"[a-z][a-z0-9_-]*")
_SET = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]{0,200}\])?\s{0,9}(?:\+\+|--|[-+*/%&|^]?=(?!=)|<<=|>>=)")
_NAMES = re.compile(r"[A-Za-z_]\w*")

Read = Callable[[str], str | None]


class Walker(Expander):
    """One analysis. What it finds is in `drafts`, `codes` and `problems`."""

    renames = False  # there are aliases or functions
    _whole = ""
    _pipes = 0
    _read = 0  # letters of all the texts inside the text
    _longest = _LONGEST_INNER
    _steps = 0
    _turns = 0  # of loops, nested ones multiplied

    def __init__(
        self,
        *,
        home: str = "",
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        read: Read | None = None,
    ) -> None:
        super().__init__(known_environment(env, home, cwd))
        self.start = cwd
        self.read = read
        self.drafts: list[Draft] = []
        self.codes: list[Code] = []
        self._parsed: dict[str, Statement] = {}
        self._uncalled: dict[int, tuple[Function, Scope, Frame]] = {}
        self._outer = Frame()  # the circumstances of the words being expanded

    # Texts

    def text(self, text: str, scope: Scope, frame: Frame) -> str | None:
        """Walks a text inside the text; its constant output when somebody reads it."""
        if frame.depth > _DEEPEST:
            self.problem("it is nested too deeply to follow")
            return None
        self._read += len(text)
        if self._read > self._longest:
            self.problem("there is too much text inside it to follow")
            return None
        statement = self._parsed.get(text)
        if statement is None:
            statement, problems = parse(text)
            self._parsed[text] = statement
            for problem in problems:
                self.problem(problem)
        return self.walk(statement, scope, frame)

    def begin(self, text: str, scope: Scope) -> None:
        """Walks the whole text."""
        self._longest = max(_LONGEST_INNER, _MOST_READINGS * len(text))
        self._whole = text
        self.text(text, scope, self._outer)

    @property
    def alone(self) -> bool:
        """Whether the text is one command, so that nothing can run what it writes."""
        return not any(mark in self._whole for mark in ";|&\n")

    def finish(self) -> None:
        """Walks the functions that nothing called: whoever reads on may call them."""
        while self._uncalled:
            _, (function, scope, frame) = self._uncalled.popitem()
            inner = Scope(scope)
            inner.arguments = None
            frame = frame.conditionally().silently().copy()
            frame.via = (*frame.via, f"{function.name}()")
            self.walk(function.body, inner, frame)

    def substitute(self, text: str, scope: Scope, opener: str) -> str:
        """What `$(…)` would print; `<(…)` and `>(…)` are the name of a pipe."""
        outer = self._outer
        frame = outer.inside("$()" if opener == "`" else opener + ")", outer.span or (0, 0))
        frame.capture, frame.stdin, frame.pipe_from, frame.background = opener != ">(", None, None, False
        if text.startswith("<") and not text.startswith(("<<", "<(")):
            text = "cat " + text
        output = self.text(text, Scope(scope), frame)
        self._outer = outer
        if opener in ("<(", ">("):
            self._pipes += 1
            pipe = f"/dev/fd/{63 + self._pipes}"
            scope.write(pipe, output)
            return pipe
        return UNKNOWN if output is None else output.rstrip("\n").replace("\0", "")

    # Statements

    def walk(self, statement: Statement, scope: Scope, frame: Frame) -> str | None:
        """Walks a statement; its constant output when `frame.capture`, None when unknown."""
        self._steps += 1
        if self._steps > _MOST_STEPS or self.level > DEEPEST:
            self.problem(
                "it has too many steps to follow" if self.level <= DEEPEST else "it is nested too deeply to follow"
            )
            return None
        if isinstance(statement, Simple):
            return self._simple(statement, scope, frame)
        self.level += 1
        output: str | None = None
        if isinstance(statement, Sequence):
            output = self._sequence(statement, scope, frame)
        elif isinstance(statement, Piped):
            output = self._pipeline(statement, scope, frame)
        elif isinstance(statement, Group):
            output = self._group(statement, scope, frame)
        elif isinstance(statement, Branch):
            self._branch(statement, scope, frame)
        elif isinstance(statement, Loop):
            self._loop(statement, scope, frame)
        else:
            self.renames = True
            scope.define(statement.name, statement.body, certain=not frame.conditional)
            self._uncalled[id(statement.body)] = (statement, scope, frame)
            output = ""
        self.level -= 1
        return output

    def _sequence(self, sequence: Sequence, scope: Scope, frame: Frame) -> str | None:
        items, joins = sequence.items, sequence.joins
        outputs: list[str | None] = []
        index, count = 0, len(items)
        while index < count:
            last = index
            while joins[last] in ("&&", "||") and last + 1 < count:
                last += 1
            here, inner = frame, scope
            if joins[last] == "&":
                here, inner = frame.copy(), Scope(scope)
                here.background = True
            outputs.append(self.walk(items[index], inner, here))
            if last > index:
                branch = Scope(inner)
                here = here.conditionally()
                for place in range(index + 1, last + 1):
                    before = branch.directories
                    output = self.walk(items[place], branch, here)
                    if joins[place - 1] == "||":
                        # What follows is read as if the command before had worked.
                        branch.directories = before
                    else:
                        outputs.append(output)
                inner.merge([branch])
            index = last + 1
        if not frame.capture or None in outputs:
            return None
        return "".join(output for output in outputs if output)

    def _pipeline(self, pipeline: Piped, scope: Scope, frame: Frame) -> str | None:
        stdin, pipe_from = frame.stdin, frame.pipe_from
        drafts = self.drafts
        before: range | None = None
        output: str | None = None
        final = len(pipeline.stages) - 1
        for place, stage in enumerate(pipeline.stages):
            first = len(drafts)
            inner = frame.reading(stdin, pipe_from)
            if place < final:
                inner.capture = True
            output = self.walk(stage, Scope(scope), inner)
            here = range(first, len(drafts))
            main = None if first == len(drafts) else first
            if main is not None and drafts[first].feeds is not None:
                main = next((index for index in here if drafts[index].feeds is None), None)
            if before is not None and main is not None:
                for index in before:
                    if drafts[index].feeds is None and drafts[index].pipe_to is None:
                        drafts[index].pipe_to = main
            stdin, pipe_from, before = output, main, here
        return output

    def _group(self, group: Group, scope: Scope, frame: Frame) -> str | None:
        inner = Scope(scope) if group.subshell else scope
        if not group.redirects:
            return self.walk(group.body, inner, frame)
        call = Invocation(self, [], scope=scope, frame=frame, span=frame.span or (group.start, group.start))
        call.first = first = len(self.drafts)
        self._outer = frame
        call.redirects, stdin, fed = redirect.expand(self, group.redirects, scope)
        self._emit(call)
        if fed:
            made = (place for place in range(call.index - 1, first - 1, -1) if self.drafts[place].feeds == call.index)
            frame = frame.reading(stdin, next(made, None))
        writes = redirect.outputs(call.redirects)
        if writes:
            frame = frame.copy()
            frame.capture = True
        output = self.walk(group.body, inner, frame)
        for one in writes:
            redirect.write(self, one, output, scope)
        return "" if writes else output

    def _branch(self, branch: Branch, scope: Scope, frame: Frame) -> None:
        if branch.subject:
            self._words([branch.subject], scope, frame)
        inner = frame.conditionally()
        silent = frame.silently()
        layers: list[Scope] = []
        for place, body in enumerate(branch.bodies):
            if place < len(branch.tests):
                self.walk(branch.tests[place], scope, silent)
                silent = silent.conditionally()
            layer = Scope(scope)
            self.walk(body, layer, inner)
            layers.append(layer)
        scope.merge(layers, always=len(branch.bodies) > len(branch.tests) > 0)

    def _loop(self, loop: Loop, scope: Scope, frame: Frame) -> None:
        inner = frame.copy()
        inner.repeated, inner.conditional, inner.capture = True, True, False
        if loop.name:
            for value in self._values(loop, scope, frame):
                scope.set(loop.name, value)
                self.walk(loop.body, scope, inner)
            return
        lines = self._lines(loop, frame)
        if lines is None:
            self._forget(loop.source, scope)
            self._turn(loop, scope, inner)
        for line in lines or ():
            self._turn(loop, scope, inner.reading(line))

    def _values(self, loop: Loop, scope: Scope, frame: Frame) -> list[str]:
        """What the variable of a `for` goes through: each value once."""
        values = [UNKNOWN]
        if loop.values is not None:
            words = self._words(loop.values, scope, frame)
            values = [Pattern(word.text) if word.glob else word.text for word in words]
        elif scope.arguments is not None:
            values = scope.arguments
        if self._turns > _MOST_TURNS:
            values = [UNKNOWN]
        elif len(values) > _MOST_VALUES:
            values = [*values[:_MOST_VALUES], UNKNOWN]
        self._turns += len(values)
        return list(dict.fromkeys(values))

    def _turn(self, loop: Loop, scope: Scope, frame: Frame) -> None:
        if loop.condition is not None:
            self.walk(loop.condition, scope, frame)
        self.walk(loop.body, scope, frame)

    @staticmethod
    def _lines(loop: Loop, frame: Frame) -> list[str] | None:
        """The lines that a `while read` would go through, when they are known and few."""
        condition = loop.condition
        if frame.stdin is None or not isinstance(condition, Simple) or condition.words[:1] != ["read"]:
            return None
        lines = frame.stdin.splitlines(keepends=True)
        return lines if len(lines) <= _MOST_VALUES else None

    @staticmethod
    def _forget(source: str, scope: Scope) -> None:
        """A variable that a loop's body sets has another value each time round."""
        for found in _ASSIGNED.finditer(source):
            for name in _NAMES.findall(found[1] or found[2] or found[3] or ""):
                if scope.get(name) is not None:
                    scope.set(name, UNKNOWN)

    # Simple commands

    def _words(self, raws: list[str], scope: Scope, frame: Frame) -> list[Word]:
        self._outer = frame
        words: list[Word] = []
        for raw in raws:
            if len(raw) < 256 and (word := plain(raw)) is not None:
                words.append(word)
            else:
                words += self.words(raw, scope)
        return words

    def _simple(self, simple: Simple, scope: Scope, frame: Frame) -> str | None:
        if scope.uncertain and (names := self._alternatives(simple, scope)):
            self._each(simple, names, scope, frame)
            return None
        first = len(self.drafts)
        if first >= _MOST_COMMANDS:
            self.problem(f"it runs more than {_MOST_COMMANDS} commands")
            return None
        span = frame.span or (simple.start, simple.end)
        words = self._words(simple.words, scope, frame)
        call = Invocation(self, words, scope=scope, frame=frame, span=span)
        if simple.assignments:
            keep = not simple.words
            call.assignments = tuple([builtin.assign(self, one, scope, keep=keep) for one in simple.assignments])
        if simple.redirects:
            call.redirects, stdin, fed = redirect.expand(self, simple.redirects, scope)
            if fed:
                call.frame = frame.reading(stdin)
        if simple.test:
            self._test(simple.test, scope)
        call.first = first
        return self.call(call, simple.words)

    def _test(self, text: str, scope: Scope) -> None:
        """`[[ … ]]` and `(( … ))` run nothing but what stands inside their words; the latter may set variables."""
        if text.startswith("(("):
            self.quoted(text[2:-2], scope)
            for name in _SET.findall(text):
                scope.set(name, UNKNOWN)
        elif "$" in text or "`" in text:
            for kind, raw, *_ in Lexer(text[2:-2].replace("\n", " ")).tokens:
                if kind in (WORD, TARGET):
                    self.words(raw, scope)

    def _alternatives(self, simple: Simple, scope: Scope) -> list[tuple[str, tuple[str, ...]]]:
        raws = [
            *simple.words,
            *(value for *_, value in simple.assignments),
            *(raw for _, _, raw, _ in simple.redirects),
        ]
        found: dict[str, tuple[str, ...]] = {}
        for name in _NAMES.findall(" ".join(raw for raw in raws if "$" in raw)):
            value = scope.get(name)
            if isinstance(value, tuple) and value:
                found[name] = value
        return list(found.items())[:2]

    def _each(self, simple: Simple, names: list[tuple[str, tuple[str, ...]]], scope: Scope, frame: Frame) -> None:
        """Walks a command once for each value that its variables may have."""
        layers: list[Scope] = []
        (name, values), rest = names[0], names[1:]
        for value in values:
            layer = Scope(scope)
            layer.set(name, value)
            if rest:
                self._each(simple, rest, layer, frame)
            else:
                self._simple(simple, layer, frame)
            del layer.values[name]
            layers.append(layer)
        scope.merge(layers, always=True)

    def call(self, call: Invocation, written: list[str] | None = None) -> str | None:
        """Notes a command, and goes inside it; `written` are its words as they stand in the text, where it stands in one."""
        words, scope = call.words, call.scope
        if written and words and self.renames and self._replaced(words[0].text, call, written):
            return None
        if not words and not call.redirects and not call.assignments:
            return "" if call.frame.capture else None
        self._emit(call)
        if call.assignments:
            escape.variables(call)
        writes = redirect.outputs(call.redirects) if call.redirects and not self.alone else None
        if not writes:
            return self._enter(call) if words else ""
        # What goes into a file is worth knowing, for when the file is run.
        call.frame = call.frame.copy()
        call.frame.capture = True
        output = self._enter(call) if words else ""
        for one in writes:
            redirect.write(self, one, output, scope)
        return ""

    def _replaced(self, name: str, call: Invocation, written: list[str]) -> bool:
        """Follows an alias or a function of that name; whether it certainly stands for the command."""
        alias = call.scope.alias(name)
        if alias is not None and written[0] == name and f"alias {name}" not in call.frame.via:
            # A shell that is not interactive runs the command itself, so both are looked at.
            self.text(" ".join([alias, *written[1:]]), call.scope, call.frame.inside(f"alias {name}", call.span))
        function = call.scope.function(name)
        if function is None or f"{name}()" in call.frame.via:
            return False
        self._function(name, function[0], call)
        return function[1]

    def _enter(self, call: Invocation) -> str | None:
        first = call.words[0].text
        call.name = name = "" if UNKNOWN in first else first.rsplit("/", 1)[-1]
        if not name:
            self._unnamed(call)
            return None
        if not name.isascii() and (likeness := lookalike(name)):
            self.problem(f"`{name}` only looks like `{likeness}`")
        if (effect := builtin.BUILTINS.get(name)) is not None:
            effect(self, call.words, call.scope, call.frame)
        output = nest.enter(call)
        return constant_output(call) if output is None and call.frame.capture else output

    def _unnamed(self, call: Invocation) -> None:
        """`$SUDO rm x`: where the variable is empty, the next word is the command."""
        words = call.words
        if (
            len(words) > 1
            and words[0].text == UNKNOWN
            and words[0].raw[:1] == "$"
            and _PROGRAM.fullmatch(words[1].text)
        ):
            call.frame = call.frame.conditionally()
            call.run(words[1:], label=words[0].raw)

    def _function(self, name: str, body: Statement, call: Invocation) -> None:
        self._uncalled.pop(id(body), None)
        scope, words = call.scope, call.words
        if call.redirects:
            call.words = []
            self._emit(call)
            call.words = words
        # It runs in the same shell: what it sets stays set, except its arguments.
        before, scope.arguments = scope.arguments, [word.text for word in words[1:]]
        self.walk(body, scope, call.frame.inside(f"{name}()", call.span).silently())
        scope.arguments = before

    def _emit(self, call: Invocation) -> None:
        frame, cwd, drafts = call.frame, call.scope.cwd, self.drafts
        index = call.index = len(drafts)
        draft = Draft()
        draft.argv = tuple(call.words)
        draft.assignments = call.assignments
        draft.redirects = call.redirects
        draft.cwd = None if cwd is None else Word(cwd, cwd)
        draft.via = frame.via
        draft.where = frame.where
        draft.stdin = frame.stdin
        draft.pipe_from = frame.pipe_from
        draft.pipe_to = None
        draft.background = frame.background
        draft.conditional = frame.conditional
        draft.repeated = frame.repeated
        draft.span = call.span
        draft.depth = frame.depth
        draft.feeds = None
        drafts.append(draft)
        if call.first is not None:
            for inner in range(call.first, index):
                # What ran inside its words gave it its words.
                if drafts[inner].feeds is None:
                    drafts[inner].feeds = index
