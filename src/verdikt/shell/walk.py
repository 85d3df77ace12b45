"""Statements → the commands they would run, in order."""

from verdikt.model.regex import regex
from verdikt.shell import redirect
from verdikt.shell.command import UNKNOWN
from verdikt.shell.expand import DEEPEST
from verdikt.shell.frame import Frame
from verdikt.shell.invocation import Invocation
from verdikt.shell.run import Runner
from verdikt.shell.scope import Pattern, Scope
from verdikt.shell.statement import Branch, Group, Loop, Piped, Sequence, Simple, Statement
from verdikt.shell.syntax import parse

_DEEPEST = 24
_MOST_VALUES = 32
_MOST_STEPS = 100_000
_MOST_TURNS = 400
_LONGEST_INNER = 1 << 20
_MOST_READINGS = 5
_ASSIGNED = regex(
    r"\b([A-Za-z_]\w*)(?:\[[^\]]{0,200}\])?\+?=|\b(?:read|mapfile|readarray|getopts|unset)\b([^\n;|&]{0,200})|\(\(([^)]{0,200})\)\)"
)
_NAMES = regex(r"[A-Za-z_]\w*")


class Walker(Runner):
    """One analysis: goes through the statements, and through the texts inside them."""

    _pipes = 0
    _read = 0  # letters of all the texts inside the text
    _longest = _LONGEST_INNER
    _steps = 0
    _turns = 0  # of loops, nested ones multiplied

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

    def begin(self, text: str, statement: Statement, scope: Scope) -> None:
        """Walks the whole text, then the functions that nothing called: whoever reads on may call them."""
        self._longest = max(_LONGEST_INNER, _MOST_READINGS * len(text))
        self._whole = text
        self.walk(statement, scope, self._outer)
        self._exit()
        while self._uncalled:
            _, (function, outer, frame) = self._uncalled.popitem()
            inner = Scope(outer)
            inner.arguments = None
            frame = frame.conditionally().silently().copy()
            frame.via = (*frame.via, f"{function.name}()")
            self.walk(function.body, inner, frame)
        self._exit()

    def _exit(self) -> None:
        """Runs what traps kept for the end, with the variables as they are by then."""
        while self.at_exit:
            call, text = self.at_exit.pop(0)
            call.frame = call.frame.conditionally()
            call.shell(text, stdin=False)

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
            frame = frame.reading(stdin, next(made, None), redirect.source(call.redirects))
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
