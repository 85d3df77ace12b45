"""Walker of statements: finds the commands they would run, in order."""

import re

from verdikt.knowledge import find_role, join_role, list_role
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell import redirection
from verdikt.shell.command import UNKNOWN
from verdikt.shell.command_call import CommandCall, Frame
from verdikt.shell.command_walker import CommandWalker
from verdikt.shell.evaluated_text import declare_coprocesses
from verdikt.shell.parser import parse_statements
from verdikt.shell.scope import Scope, WildcardValue
from verdikt.shell.statement import Branch, CommandGroup, CommandPipeline, Loop, SimpleCommand, Statement, StatementList
from verdikt.shell.word_expansion import MAX_NESTING

# Limits of one analysis: a short text can ask for billions of steps, and an answer is due in milliseconds.
_MAX_DEPTH = 24
_MAX_VALUES = 32
_MAX_STEPS = 100_000
_MAX_ITERATIONS = 400
_MAX_INNER_LENGTH = 1 << 20
_MAX_READINGS = 5
_LOOP_ASSIGNMENT = compile_lazily(
    r"\b([A-Za-z_]\w*)(?:\[[^\]]{0,200}\])?\+?="
    r"|\b(?:read|mapfile|readarray|getopts|unset)\b([^\n;|&]{0,200})|\(\(([^)]{0,200})\)\)"
)
_CONCATENATOR = list_role("concatenator")[0]
_LINE_READERS = sorted(find_role("shell") | find_role("argument_feeder") | find_role("operand_remover"))
# A body that may run the line, or delete what it names; others need not know what the file holds, and each read asks
# the world.
_RUNS_LINE = compile_lazily(rf"\b(?:eval|source|{'|'.join(_LINE_READERS)})\b|(?:^|[;&|{{(]|\bdo\b)\s*[\"']?\$")
_LISTING = compile_lazily(rf"\"?\$\(\s*(?:{join_role('directory_lister')})\s+(?:-1\s+)?([\w.-][\w./-]*?)/?\s*\)\"?$")
_VARIABLE_NAME = compile_lazily(r"[A-Za-z_]\w*")


def _is_listing_loop(loop: Loop) -> bool:
    """Return whether a loop goes through the names in one directory, and uses each as a name in that directory only."""
    listing = _LISTING.match(loop.values[0]) if loop.values is not None and len(loop.values) == 1 else None
    if listing is None:
        return False
    uses = re.findall(rf"(\S*?)\"?\$\{{?{re.escape(loop.name)}\b", loop.source)
    return bool(uses) and all(use.lstrip('"').rstrip("/") == listing[1] and use.endswith("/") for use in uses)


class StatementWalker(CommandWalker):
    """One analysis: walks the statements, and the texts inside them."""

    _pipe_count = 0
    _inner_text_length = 0  # letters of all the texts inside the text
    _max_inner_length = _MAX_INNER_LENGTH
    _step_count = 0
    _iteration_count = 0  # of loops, nested ones multiplied

    # Texts

    def walk_text(self, text: str, scope: Scope, frame: Frame) -> str | None:
        """Walk a text inside the text; return its constant output when `frame.is_captured`."""
        if frame.depth > _MAX_DEPTH:
            self.add_problem("it is nested too deeply to follow")
            return None
        # `eval "$x$x"` in a loop parses ever more text; the sum over all inner texts is what takes time.
        self._inner_text_length += len(text)
        if self._inner_text_length > self._max_inner_length:
            self.add_problem("there is too much text inside it to follow")
            return None
        statement = self._parse_cache.get(text)
        if statement is None:
            statement, problems = parse_statements(text)
            self._parse_cache[text] = statement
            for problem in problems:
                self.add_problem(problem)
        return self.walk_statement(statement, scope, frame)

    def walk_script(self, text: str, statement: Statement, scope: Scope) -> None:
        """Walk the whole text, then the functions that it defines and never calls."""
        self._max_inner_length = max(_MAX_INNER_LENGTH, _MAX_READINGS * len(text))
        self._outermost_text = text
        # Looked for once: a search of the whole text for each of its commands grows with its square.
        self._exports_functions = "BASH_FUNC_" in text
        if "coproc" in text:
            declare_coprocesses(text, scope)
        self.walk_statement(statement, scope, self._current_frame)
        self._walk_exit_traps()
        while self._uncalled_functions:
            _, (function, outer, frame) = self._uncalled_functions.popitem()
            inner = Scope(outer)
            inner.arguments = None
            frame = frame.as_conditional().without_capture().copy()
            frame.via = (*frame.via, f"{function.name}()")
            self.walk_statement(function.body, inner, frame)
        self._walk_exit_traps()

    def _walk_exit_traps(self) -> None:
        """Walk the exit traps, with the variables as they are at the end."""
        while self.exit_traps:
            call, text = self.exit_traps.pop(0)
            call.frame = call.frame.as_conditional()
            call.walk_shell_text(text, inherit_stdin=False)

    def substitute_command(self, text: str, scope: Scope, opener: str) -> str:
        """Return the output of `$(…)`; for `<(…)` and `>(…)`, the name of a pipe."""
        outer = self._current_frame
        frame = outer.create_inner_frame("$()" if opener == "`" else opener + ")", outer.span or (0, 0))
        frame.is_captured, frame.stdin, frame.pipe_from, frame.background = opener != ">(", None, None, False
        if text.startswith("<") and not text.startswith(("<<", "<(")):
            # `$(< file)` is bash's short form of `$(cat file)`.
            text = f"{_CONCATENATOR} {text}"
        output = self.walk_text(text, Scope(scope), frame)
        self._current_frame = outer
        if opener in ("<(", ">("):
            self._pipe_count += 1
            pipe = f"/dev/fd/{63 + self._pipe_count}"
            scope.record_file(pipe, output)
            if output is None and self.drafts:
                self.copied_sources[pipe] = len(self.drafts) - 1
            return pipe
        return UNKNOWN if output is None else output.rstrip("\n").replace("\0", "")

    # Statements

    def walk_statement(self, statement: Statement, scope: Scope, frame: Frame) -> str | None:
        """Walk a statement; return its constant output when `frame.is_captured`, None when unknown."""
        self._step_count += 1
        if self._step_count > _MAX_STEPS or self.nesting_level > MAX_NESTING:
            self.add_problem(
                "it has too many steps to follow"
                if self.nesting_level <= MAX_NESTING
                else "it is nested too deeply to follow"
            )
            return None
        if isinstance(statement, SimpleCommand):
            return self._walk_simple_command(statement, scope, frame)
        self.nesting_level += 1
        output: str | None = None
        if isinstance(statement, StatementList):
            output = self._walk_list(statement, scope, frame)
        elif isinstance(statement, CommandPipeline):
            output = self._walk_pipeline(statement, scope, frame)
        elif isinstance(statement, CommandGroup):
            output = self._walk_group(statement, scope, frame)
        elif isinstance(statement, Branch):
            self._walk_branch(statement, scope, frame)
        elif isinstance(statement, Loop):
            self._walk_loop(statement, scope, frame)
        else:
            self.has_replacements = True
            scope.define_function(statement.name, statement.body, is_certain=not frame.conditional)
            # A function that is never called is walked at the end: a file that is sourced may be called from outside.
            self._uncalled_functions[id(statement.body)] = (statement, scope, frame)
            output = ""
        self.nesting_level -= 1
        return output

    def _walk_list(self, statement_list: StatementList, scope: Scope, frame: Frame) -> str | None:
        items, joins = statement_list.items, statement_list.operators
        outputs: list[str | None] = []
        index, count = 0, len(items)
        while index < count:
            last = index
            while joins[last] in ("&&", "||") and last + 1 < count:
                last += 1
            item_frame, item_scope = frame, scope
            if joins[last] == "&":
                item_frame, item_scope = frame.copy(), Scope(scope)
                item_frame.background = True
            outputs.append(self.walk_statement(items[index], item_scope, item_frame))
            if last > index:
                branch = Scope(item_scope)
                item_frame = item_frame.as_conditional()
                for later in range(index + 1, last + 1):
                    before = branch.directory_stack
                    output = self.walk_statement(items[later], branch, item_frame)
                    if joins[later - 1] == "||":
                        # `cd a || exit`: the commands after the list run where the `cd` succeeded.
                        branch.directory_stack = before
                    else:
                        outputs.append(output)
                item_scope.merge_branches([branch])
            index = last + 1
        if not frame.is_captured or None in outputs:
            return None
        return "".join(output for output in outputs if output)

    def _walk_pipeline(self, pipeline: CommandPipeline, scope: Scope, frame: Frame) -> str | None:
        stdin, pipe_from = frame.stdin, frame.pipe_from
        drafts = self.drafts
        previous_indexes: range | None = None
        output: str | None = None
        final = len(pipeline.stages) - 1
        for position, stage in enumerate(pipeline.stages):
            first = len(drafts)
            inner = frame.with_stdin(stdin, pipe_from)
            if position < final:
                inner.is_captured = True
            # Each stage of a pipeline runs in a subshell: what it sets is lost.
            output = self.walk_statement(stage, Scope(scope), inner)
            stage_indexes = range(first, len(drafts))
            main = None if first == len(drafts) else first
            if main is not None and drafts[first].feeds is not None:
                main = next((index for index in stage_indexes if drafts[index].feeds is None), None)
            if previous_indexes is not None and main is not None:
                for index in previous_indexes:
                    if drafts[index].feeds is None and drafts[index].pipe_to is None:
                        drafts[index].pipe_to = main
            stdin, pipe_from, previous_indexes = output, main, stage_indexes
        return output

    def _walk_group(self, group: CommandGroup, scope: Scope, frame: Frame) -> str | None:
        inner = Scope(scope) if group.is_subshell else scope
        if not group.redirects:
            return self.walk_statement(group.body, inner, frame)
        call = CommandCall(self, [], scope=scope, frame=frame, span=frame.span or (group.start, group.start))
        call.first_inner_index = first = len(self.drafts)
        self._current_frame = frame
        call.redirects, stdin, replaces_stdin = redirection.expand_redirects(self, group.redirects, scope)
        self._emit_draft(call)
        self.input_source = None
        if replaces_stdin:
            feeding_indexes = (
                index for index in range(call.index - 1, first - 1, -1) if self.drafts[index].feeds == call.index
            )
            frame = frame.with_stdin(stdin, next(feeding_indexes, None), redirection.find_stdin_file(call.redirects))
        writes = redirection.select_stdout_redirects(call.redirects)
        if writes:
            frame = frame.copy()
            frame.is_captured = True
        output = self.walk_statement(group.body, inner, frame)
        for redirect in writes:
            redirection.record_redirect_write(self, redirect, output, scope)
        return "" if writes else output

    def _walk_branch(self, branch: Branch, scope: Scope, frame: Frame) -> None:
        if branch.subject:
            self._expand_all_words([branch.subject], scope, frame)
        inner = frame.as_conditional()
        silent = frame.without_capture()
        layers: list[Scope] = []
        for place, body in enumerate(branch.bodies):
            if place < len(branch.tests):
                self.walk_statement(branch.tests[place], scope, silent)
                silent = silent.as_conditional()
            layer = Scope(scope)
            self.walk_statement(body, layer, inner)
            layers.append(layer)
        scope.merge_branches(layers, is_exhaustive=len(branch.bodies) > len(branch.tests) > 0)

    def _walk_loop(self, loop: Loop, scope: Scope, frame: Frame) -> None:
        inner = frame.copy()
        inner.repeated, inner.conditional, inner.is_captured = True, True, False
        if loop.name:
            for value in self._find_loop_values(loop, scope, frame):
                scope.set_variable(loop.name, value)
                self.walk_statement(loop.body, scope, inner)
            return
        lines = self._read_loop_lines(loop, scope, frame)
        if lines is None:
            self._forget_loop_variables(loop.source, scope)
            self._walk_iteration(loop, scope, inner)
        for line in lines or ():
            self._walk_iteration(loop, scope, inner.with_stdin(line))

    def _find_loop_values(self, loop: Loop, scope: Scope, frame: Frame) -> list[str]:
        """Return the values of a `for` variable, each once."""
        values = [UNKNOWN]
        if loop.values is not None:
            expand = self.expand_file_words if _RUNS_LINE.search(loop.source) else self._expand_all_words
            words = expand(loop.values, scope, frame)
            values = [WildcardValue(word.text) if word.glob else word.text for word in words]
        elif scope.arguments is not None:
            values = scope.arguments
        if self._iteration_count > _MAX_ITERATIONS:
            values = [UNKNOWN]
        elif values == [UNKNOWN] and _is_listing_loop(loop):
            values = [WildcardValue("*")]
        elif len(values) > _MAX_VALUES:
            values = [*values[:_MAX_VALUES], UNKNOWN]
        self._iteration_count += len(values)
        return list(dict.fromkeys(values))

    def _walk_iteration(self, loop: Loop, scope: Scope, frame: Frame) -> None:
        if loop.condition is not None:
            self.walk_statement(loop.condition, scope, frame)
        self.walk_statement(loop.body, scope, frame)

    def _read_loop_lines(self, loop: Loop, scope: Scope, frame: Frame) -> list[str] | None:
        """Return the lines that a `while read` would read, when they are known and few."""
        condition = loop.condition
        if not isinstance(condition, SimpleCommand) or condition.words[:1] != ["read"]:
            return None
        text = frame.stdin
        if text is None and not frame.lacks_input() and _RUNS_LINE.search(loop.source):
            text = redirection.read_input(self, frame, scope)
        lines = text.splitlines(keepends=True) if text is not None else None
        return lines if lines is not None and len(lines) <= _MAX_VALUES else None

    @staticmethod
    def _forget_loop_variables(source: str, scope: Scope) -> None:
        """Mark variables that the body of a loop sets as unknown: they differ in each iteration."""
        for assignment in _LOOP_ASSIGNMENT.finditer(source):
            for name in _VARIABLE_NAME.findall(assignment[1] or assignment[2] or assignment[3] or ""):
                if scope.get_variable(name) is not None:
                    scope.set_variable(name, UNKNOWN)
