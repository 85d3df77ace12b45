"""Statements → the commands they would run, in order."""

import re
from collections.abc import Callable, Mapping

from verdikt.shell import builtin, nest
from verdikt.shell.command import UNKNOWN, Code, Command, Redirect, Word
from verdikt.shell.expand import Expander
from verdikt.shell.frame import Frame
from verdikt.shell.invocation import Invocation
from verdikt.shell.output import constant_output
from verdikt.shell.scope import Pattern, Scope, known_environment
from verdikt.shell.syntax import (
    Branch,
    Function,
    Group,
    Loop,
    Piped,
    RawRedirect,
    Sequence,
    Simple,
    Statement,
    parse,
)

_DEEPEST = 24
_MOST_VALUES = 32
_MOST_COMMANDS = 20_000
_LONGEST_INNER = 1 << 20
_ASSIGNED = re.compile(
    r"\b([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=|\b(?:read|mapfile|readarray|getopts|unset)\b([^\n;|&]*)|\(\(([^)]*)\)\)"
)
_NAMES = re.compile(r"[A-Za-z_]\w*")

Read = Callable[[str], str | None]


class Walker:
    """One analysis. What it finds is in `commands`, `codes` and `problems`."""

    def __init__(
        self,
        *,
        home: str = "",
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        read: Read | None = None,
    ) -> None:
        self.home = home
        self.start = cwd
        self.read = read
        self.commands: list[Command] = []
        self.codes: list[Code] = []
        self.problems: dict[str, None] = {}
        self.expander = Expander(self, known_environment(env, home, cwd))
        self._parsed: dict[str, Statement] = {}
        self._uncalled: dict[int, tuple[Function, Scope, Frame]] = {}
        self._calling: list[str] = []
        self._frames: list[Frame] = []

    # Texts

    def text(self, text: str, scope: Scope, frame: Frame) -> str | None:
        """Walks a text inside the text; its constant output when somebody reads it."""
        if frame.depth > _DEEPEST:
            self.problem("it is nested too deeply to follow")
            return None
        if len(text) > _LONGEST_INNER:
            self.problem("a text inside it is too long to follow")
            return None
        statement = self._parsed.get(text)
        if statement is None:
            statement, problems = parse(text)
            self._parsed[text] = statement
            for problem in problems:
                self.problem(problem)
        return self.walk(statement, scope, frame)

    def finish(self) -> None:
        """Walks the functions that nothing called: whoever reads on may call them."""
        while self._uncalled:
            _, (function, scope, frame) = self._uncalled.popitem()
            inner = Scope(scope)
            inner.arguments = None
            self.walk(
                function.body, inner, frame.but(via=(*frame.via, f"{function.name}()"), conditional=True, capture=False)
            )

    def problem(self, words: str) -> None:
        """Notes what could not be understood."""
        self.problems[words] = None

    def substitute(self, text: str, scope: Scope, opener: str) -> str:
        """What `$(…)` would print; `<(…)` and `>(…)` are the name of a pipe."""
        outer = self._frames[-1] if self._frames else Frame()
        label = opener + ")" if opener != "`" else "$()"
        inner = outer.inside(label, outer.span or (0, 0)).but(
            capture=opener != ">(", stdin=None, pipe_from=None, background=False
        )
        if text.startswith("<") and not text.startswith("<<") and opener in ("$(", "`"):
            text = "cat " + text
        output = self.text(text, Scope(scope), inner)
        if opener in ("<(", ">("):
            return "/dev/fd/63"
        return UNKNOWN if output is None else output.rstrip("\n").replace("\0", "")

    # Statements

    def walk(self, statement: Statement, scope: Scope, frame: Frame) -> str | None:
        """Walks a statement; its constant output when `frame.capture`, None when unknown."""
        if isinstance(statement, Simple):
            return self._simple(statement, scope, frame)
        if isinstance(statement, Sequence):
            return self._sequence(statement, scope, frame)
        if isinstance(statement, Piped):
            return self._pipeline(statement, scope, frame)
        if isinstance(statement, Group):
            return self._group(statement, scope, frame)
        if isinstance(statement, Branch):
            return self._branch(statement, scope, frame)
        if isinstance(statement, Loop):
            return self._loop(statement, scope, frame)
        scope.functions[statement.name] = (statement.body, not frame.conditional)
        self._uncalled[id(statement.body)] = (statement, scope, frame)
        return ""

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
                here, inner = frame.but(background=True), Scope(scope)
            outputs.append(self.walk(items[index], inner, here))
            if last > index:
                branch = Scope(inner)
                here = here.conditionally()
                for place in range(index + 1, last + 1):
                    before = branch.cwd
                    output = self.walk(items[place], branch, here)
                    if joins[place - 1] == "||":
                        branch.cwd = before
                        output = "" if output is None else output
                        continue
                    outputs.append(output)
                inner.merge([branch])
            index = last + 1
        if not frame.capture or None in outputs:
            return None
        return "".join(output for output in outputs if output)

    def _pipeline(self, pipeline: Piped, scope: Scope, frame: Frame) -> str | None:
        stdin, pipe_from = frame.stdin, frame.pipe_from
        before: range | None = None
        output: str | None = None
        final = len(pipeline.stages) - 1
        for place, stage in enumerate(pipeline.stages):
            first = len(self.commands)
            inner = frame.but(stdin=stdin, pipe_from=pipe_from, capture=place < final or frame.capture)
            output = self.walk(stage, Scope(scope), inner)
            here = range(first, len(self.commands))
            main = next((index for index in here if self.commands[index].feeds is None), None)
            if before is not None and main is not None:
                for index in before:
                    if self.commands[index].feeds is None and self.commands[index].pipe_to is None:
                        # Still being made: nobody has seen it.
                        object.__setattr__(self.commands[index], "pipe_to", main)
            stdin, pipe_from, before = output, main, here
        return output

    def _group(self, group: Group, scope: Scope, frame: Frame) -> str | None:
        inner = Scope(scope) if group.subshell else scope
        first = len(self.commands)
        redirects, stdin, _ = self._redirects(group.redirects, scope, frame)
        if redirects:
            call = Invocation(self, [], scope=scope, frame=frame, span=frame.span or (group.start, group.start))
            call.redirects, call.first = redirects, first
            self._emit(call)
            if any(redirect.fd == 0 for redirect in redirects):
                frame = frame.but(stdin=stdin, pipe_from=self._feeder(first, call.index))
        writes = self._written(redirects)
        output = self.walk(group.body, inner, frame.but(capture=True) if writes else frame)
        for path in writes:
            self.write(path, output, scope)
        return "" if writes else output

    def _branch(self, branch: Branch, scope: Scope, frame: Frame) -> str | None:
        if branch.subject:
            self._expand_in(branch.subject, scope, frame)
        for test in branch.tests:
            self.walk(test, scope, frame.but(capture=False))
        inner = frame.conditionally()
        layers: list[Scope] = []
        for body in branch.bodies:
            layer = Scope(scope)
            self.walk(body, layer, inner)
            layers.append(layer)
        scope.merge(layers, always=len(branch.bodies) > len(branch.tests) > 0)
        return None

    def _loop(self, loop: Loop, scope: Scope, frame: Frame) -> str | None:
        inner = frame.but(repeated=True, conditional=True, capture=False)
        if loop.name:
            values = [UNKNOWN]
            if loop.values is not None:
                words = [word for raw in loop.values for word in self._expand_in(raw, scope, frame)]
                values = [Pattern(word.text) if word.glob else word.text for word in words]
            elif scope.arguments is not None:
                values = scope.arguments
            if len(values) > _MOST_VALUES or len(self.commands) > _MOST_COMMANDS // 2:
                values = [*values[:_MOST_VALUES], UNKNOWN]
            for value in dict.fromkeys(values):
                scope.set(loop.name, value)
                self.walk(loop.body, scope, inner)
            return None
        lines = self._lines(loop, frame)
        if lines is not None:
            for line in lines:
                self._turn(loop, scope, inner.but(stdin=line))
            return None
        self._forget(loop.source, scope)
        self._turn(loop, scope, inner)
        return None

    def _turn(self, loop: Loop, scope: Scope, frame: Frame) -> None:
        if loop.condition is not None:
            self.walk(loop.condition, scope, frame)
        self.walk(loop.body, scope, frame)

    @staticmethod
    def _lines(loop: Loop, frame: Frame) -> list[str] | None:
        """The lines that a `while read` would go through, when they are known and few."""
        condition = loop.condition
        if (
            frame.stdin is None
            or not isinstance(condition, Simple)
            or not condition.words
            or condition.words[0] != "read"
        ):
            return None
        lines = frame.stdin.splitlines(keepends=True)
        return lines if len(lines) <= _MOST_VALUES else None

    def _forget(self, source: str, scope: Scope) -> None:
        """A variable that a loop's body sets has another value each time round."""
        for found in _ASSIGNED.finditer(source):
            for name in _NAMES.findall(found[1] or found[2] or found[3] or ""):
                if scope.get(name) is not None:
                    scope.set(name, UNKNOWN)

    # Simple commands

    def _expand_in(self, raw: str, scope: Scope, frame: Frame) -> list[Word]:
        self._frames.append(frame)
        try:
            return self.expander.words(raw, scope)
        finally:
            self._frames.pop()

    def _simple(self, simple: Simple, scope: Scope, frame: Frame) -> str | None:
        if scope.uncertain and (names := self._alternatives(simple, scope)):
            self._each(simple, names, scope, frame)
            return None
        if len(self.commands) >= _MOST_COMMANDS:
            self.problem(f"it runs more than {_MOST_COMMANDS} commands")
            return None
        span = frame.span or (simple.start, simple.end)
        first = len(self.commands)
        self._frames.append(frame if frame.span else frame.but(span=span))
        try:
            words: list[Word] = []
            for raw in simple.words:
                words += self.expander.words(raw, scope)
            assignments = [builtin.assign(self, given, scope, keep=not simple.words) for given in simple.assignments]
            if simple.test:
                self.expander.text(simple.test.replace("\\", ""), scope)
        finally:
            self._frames.pop()
        call = Invocation(self, words, scope=scope, frame=frame, span=span)
        call.assignments = tuple(assignments)
        call.first = first
        if simple.redirects:
            call.redirects, stdin, fed = self._redirects(simple.redirects, scope, frame)
            if fed:
                call.frame = frame.but(stdin=stdin, pipe_from=None)
        return self.call(call, simple.words)

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
        words, scope, frame = call.words, call.scope, call.frame
        if written and words:
            name = words[0].text
            if (alias := scope.alias(name)) is not None and written[0] == name and f"alias {name}" not in frame.via:
                self.text(" ".join([alias, *written[1:]]), scope, frame.inside(f"alias {name}", call.span))
            if (function := scope.function(name)) is not None and f"{name}()" not in frame.via:
                self._function(name, function[0], call)
                if function[1]:
                    return None
        if not words and not call.redirects and not call.assignments:
            return "" if frame.capture else None
        self._emit(call)
        output = self._enter(call) if words else ""
        writes = self._written(call.redirects)
        for path in writes:
            self.write(path, output, scope)
        return "" if writes else output

    def _enter(self, call: Invocation) -> str | None:
        call.name = name = self.commands[call.index].name
        if not name:
            return None
        if (effect := builtin.BUILTINS.get(name)) is not None:
            effect(self, call.words, call.scope, call.frame)
        entered, output = nest.enter(call)
        if entered or not call.frame.capture:
            return output
        return constant_output(call)

    def _function(self, name: str, body: Statement, call: Invocation) -> None:
        self._uncalled.pop(id(body), None)
        scope, words = call.scope, call.words
        if call.redirects:
            call.words = []
            self._emit(call)
            call.words = words
        # It runs in the same shell: what it sets stays set, except its arguments.
        before, scope.arguments = scope.arguments, [word.text for word in words[1:]]
        self.walk(body, scope, call.frame.inside(f"{name}()", call.span).but(capture=False))
        scope.arguments = before

    def _emit(self, call: Invocation) -> None:
        frame, cwd = call.frame, call.scope.cwd
        call.index = len(self.commands)
        self.commands.append(
            Command(
                argv=tuple(call.words),
                assignments=call.assignments,
                redirects=call.redirects,
                cwd=None if cwd is None else Word(cwd, cwd),
                via=frame.via,
                where=frame.where,
                stdin=frame.stdin,
                pipe_from=frame.pipe_from,
                background=frame.background,
                conditional=frame.conditional,
                repeated=frame.repeated,
                span=call.span,
                depth=frame.depth,
            )
        )
        if call.first is not None and call.first < call.index:
            self._feed(call.first, call.index)

    def _feed(self, first: int, index: int) -> None:
        """What ran inside a command's words gave it its words."""
        for inner in range(first, index):
            if self.commands[inner].feeds is None:
                object.__setattr__(self.commands[inner], "feeds", index)

    def _feeder(self, first: int, index: int) -> int | None:
        """The last command that ran inside a redirection, as in `done < <(find …)`."""
        return next((place for place in range(index - 1, first - 1, -1) if self.commands[place].feeds == index), None)

    # Redirections and files

    def _redirects(
        self, raws: list[RawRedirect], scope: Scope, frame: Frame
    ) -> tuple[tuple[Redirect, ...], str | None, bool]:
        """The redirections, the constant text on standard input, and whether they replace standard input."""
        found: list[Redirect] = []
        stdin: str | None = None
        fed = False
        self._frames.append(frame)
        try:
            for op, fd, raw, document in raws:
                if document is not None:
                    body = document.body if document.quoted else self.expander.text(document.body, scope)
                    found.append(Redirect("<<", fd, Word(body, raw)))
                    if fd == 0:
                        stdin, fed = body, True
                    continue
                target = self.expander.word(raw, scope)
                found.append(Redirect(op, fd, target))
                if fd == 0 and op == "<<<":
                    stdin, fed = target.text + "\n", True
                elif fd == 0 and op in ("<", "<>"):
                    stdin, fed = self.contents(target, scope), True
        finally:
            self._frames.pop()
        return tuple(found), stdin, fed

    @staticmethod
    def _written(redirects: tuple[Redirect, ...]) -> list[Word]:
        return [
            redirect.target
            for redirect in redirects
            if redirect.op in (">", ">>", ">|", "&>", "&>>")
            and redirect.fd == 1
            and redirect.target.text != "/dev/null"
        ]

    def place(self, path: str, scope: Scope) -> str:
        """A path as seen from where the text stands, without `.` and `..`."""
        from posixpath import join, normpath

        return normpath(join(self.start or "/", scope.cwd or "", path))

    def write(self, path: Word, contents: str | None, scope: Scope) -> None:
        """Remembers what the text wrote, because it may run it next."""
        if path.known and not path.glob:
            scope.files[self.place(path.text, scope)] = contents

    def contents(self, path: Word, scope: Scope) -> str | None:
        """What is in a file: as the text wrote it, else as the caller knows it."""
        if not path.known or path.glob or not path.text or path.text.startswith("/dev/"):
            return None
        place = self.place(path.text, scope)
        written, contents = scope.file(place)
        if written:
            return contents
        if self.read is None or (scope.cwd and UNKNOWN in scope.cwd):
            return None
        return self.read(place)
