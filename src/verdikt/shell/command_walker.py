"""Walker of simple commands: records each as a draft, together with the commands inside it."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import NamedTuple

from verdikt.knowledge import find_role, join_role
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell import builtin, evaluated_text, exec_options, inner_commands, redirection
from verdikt.shell.command import UNKNOWN, Code, CommandDraft, Redirect, Word
from verdikt.shell.command_call import CommandCall, Frame
from verdikt.shell.homoglyph import find_lookalike, guess_programs
from verdikt.shell.lexer import TARGET, WORD, Lexer
from verdikt.shell.output_prediction import predict_output
from verdikt.shell.scope import Scope, VariableValue, build_environment
from verdikt.shell.statement import FunctionDefinition, SimpleCommand, Statement
from verdikt.shell.word_expansion import Expander, to_plain_word

# A loop inside a loop multiplies commands; beyond this the answer would take seconds and tell nothing new.
_MAX_COMMANDS = 20_000
_MAX_READINGS = 100
"""Ways to read unlisted options that are walked besides the plain one, in the whole text."""
_VARIABLE_NAME = compile_lazily(r"[A-Za-z_]\w*")
_PROGRAM_NAME = compile_lazily(r"[a-z][a-z0-9_-]*")
_ARITHMETIC_ASSIGNMENT = compile_lazily(
    r"([A-Za-z_]\w*)(?:\[[^\]]{0,200}\])?\s{0,9}(?:\+\+|--|[-+*/%&|^]?=(?!=)|<<=|>>=)"
)

# A cheap test on the whole text: most texts cannot run a file that they write, and then writes need not be traced.
_COMMAND_SEPARATOR = compile_lazily(r"[;|&\n]")
_FILE_RUNNERS = sorted(
    set().union(*map(find_role, ("code_runner", "task_runner", "package_script", "argument_feeder"))) - {"."}
)
_FILE_EXECUTION = compile_lazily(
    rf"sh\b|{'|'.join(_FILE_RUNNERS)}|\b(?:{join_role('job_queue')})\b|{join_role('mode_changer')}|<|[;|&({{\s][.~/$`\"']"
)

_OUTERMOST_FRAME = Frame()
_TEXT_RUNNERS = find_role("shell") | {"eval", "source", "."}
_FILE_WORD_PROGRAMS = _TEXT_RUNNERS | find_role("operand_remover")
"""Programs for whose words files are read: `bash -c "$(cat x)"` runs what is in one, `rm $(cat x)` deletes it."""

FileReader = Callable[[str], str | None]


class _Replacement(NamedTuple):
    """What a function did in the place of a command."""

    output: str | None


class CommandWalker(Expander):
    """Walk simple commands; the result is in `drafts`, `codes` and `problems`."""

    local_variables: dict[str, VariableValue | None] | None = None  # what a function's own variables hid
    has_replacements = False  # there are aliases or functions
    _outermost_text = ""
    _exports_functions = False  # whether the text can define a function by a variable
    _has_no_file_execution: bool | None = None
    reads_programs = False  # the words that are expanded now are the program of a shell, or what is deleted
    shell_input: Frame | None = None  # the standard input that `exec < file` gave to all that follows
    shell_output: Redirect | None = None  # the file to which `exec > file` sends what all that follows prints

    def __init__(
        self,
        *,
        home: str = "",
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        read_file: FileReader | None = None,
    ) -> None:
        self.environment = build_environment(env, home, cwd)
        self.problems = {}
        self.start_directory = cwd
        self.read_file = read_file
        self.drafts: list[CommandDraft] = []
        self.codes: list[Code] = []
        self.descriptor_sources: dict[str, int] = {}  # open descriptors → the commands whose output they read
        self.input_source: int | None = None  # the command behind the descriptor that was just made standard input
        self.descriptors: dict[str, Word] = {}  # open descriptors → the files that they read or write
        self.shell_inputs: dict[str, CommandCall] = {}  # pipes and descriptors → the shells that run what comes in
        self.copied_paths: dict[str, str] = {}  # copies of files that existed before → those files
        self.copied_sources: dict[str, int] = {}  # files of unknown contents → the commands that wrote them
        self.exit_traps: list[tuple[CommandCall, str]] = []  # what `trap … EXIT` keeps for the end
        self._uncalled_functions: dict[int, tuple[FunctionDefinition, Scope, Frame]] = {}
        self._parse_cache: dict[str, Statement] = {}
        self._reading_count = 0
        self._current_frame = _OUTERMOST_FRAME  # the circumstances of the words being expanded

    def spend_reading_budget(self) -> bool:
        """Whether one more way to read the options of a command may be walked."""
        self._reading_count += 1
        return self._reading_count <= _MAX_READINGS

    @property
    def has_no_file_execution(self) -> bool:
        """Whether no command in the text can run a file that the text writes."""
        if self._has_no_file_execution is None:
            mark = _COMMAND_SEPARATOR.search(self._outermost_text)
            self._has_no_file_execution = (
                mark is None or _FILE_EXECUTION.search(self._outermost_text, mark.start()) is None
            )
        return self._has_no_file_execution

    @abstractmethod
    def walk_text(self, text: str, scope: Scope, frame: Frame) -> str | None:
        """Walk a text inside the text; return its constant output when `frame.is_captured`."""

    @abstractmethod
    def walk_statement(self, statement: Statement, scope: Scope, frame: Frame) -> str | None:
        """Walk a statement; return its constant output when `frame.is_captured`."""

    def _expand_all_words(self, raws: list[str], scope: Scope, frame: Frame) -> list[Word]:
        self._current_frame = frame
        words: list[Word] = []
        for raw in raws:
            if len(raw) < 256 and (word := to_plain_word(raw)) is not None:
                words.append(word)
            else:
                words += self.expand_words(raw, scope)
        return words

    def expand_file_words(self, raws: list[str], scope: Scope, frame: Frame) -> list[Word]:
        """Expand words that matter by what is in files: `$(cat file)` may be the program of a shell."""
        before, self.reads_programs = self.reads_programs, True
        try:
            return self._expand_all_words(raws, scope, frame)
        finally:
            self.reads_programs = before

    def _walk_simple_command(self, command: SimpleCommand, scope: Scope, frame: Frame) -> str | None:
        if scope.has_alternatives and (names := self._find_alternatives(command, scope)):
            self._walk_alternatives(command, names, scope, frame)
            return None
        first = len(self.drafts)
        if first >= _MAX_COMMANDS:
            self.add_problem(f"it runs more than {_MAX_COMMANDS} commands")
            return None
        span = frame.span or (command.start, command.end)
        if not _FILE_WORD_PROGRAMS.isdisjoint(command.words[:2]):
            words = self.expand_file_words(command.words, scope, frame)
        else:
            words = self._expand_all_words(command.words, scope, frame)
        call = CommandCall(self, words, scope=scope, frame=frame, span=span)
        if command.assignments:
            persists = not command.words
            call.assignments = tuple(
                [
                    builtin.evaluate_assignment(self, assignment, scope, persist=persists)
                    for assignment in command.assignments
                ]
            )
        if command.redirects:
            call.redirects, stdin, replaces_stdin = redirection.expand_redirects(self, command.redirects, scope)
            if replaces_stdin:
                source, self.input_source = self.input_source, None
                call.frame = frame.with_stdin(stdin, source, redirection.find_stdin_file(call.redirects))
                if command.words == ["exec"]:
                    self.shell_input = call.frame
            if command.words == ["exec"]:
                self.shell_output = redirection.find_shell_output(call.redirects, self.shell_output)
        if self.shell_input is not None and call.frame.lacks_input():
            call.frame = frame.with_stdin(self.shell_input.stdin, None, self.shell_input.stdin_file)
        if command.test_text:
            self._walk_test(command.test_text, scope)
        call.first_inner_index = first
        return self.walk_call(call, command.words)

    def _walk_test(self, text: str, scope: Scope) -> None:
        """Walk a `[[ … ]]` or `(( … ))`: it runs only what its words substitute, and the latter may set variables."""
        if text.startswith("(("):
            self.expand_quoted(text[2:-2], scope)
            evaluated_text.walk_arithmetic_names(self, text, scope)
            for name in _ARITHMETIC_ASSIGNMENT.findall(text):
                scope.set_variable(name, UNKNOWN)
            return
        if " -" in text:
            evaluated_text.walk_test_names(self, text, scope)
        if "$" in text or "`" in text:
            for kind, raw, *_ in Lexer(text[2:-2].replace("\n", " ")).tokens:
                if kind in (WORD, TARGET):
                    self.expand_words(raw, scope)

    def _find_alternatives(self, command: SimpleCommand, scope: Scope) -> list[tuple[str, tuple[str, ...]]]:
        raws = [
            *command.words,
            *(value for *_, value in command.assignments),
            *(raw for _, _, raw, _ in command.redirects),
        ]
        alternatives: dict[str, tuple[str, ...]] = {}
        for name in _VARIABLE_NAME.findall(" ".join(raw for raw in raws if "$" in raw)):
            value = scope.get_variable(name)
            if isinstance(value, tuple) and value:
                alternatives[name] = value
        return list(alternatives.items())[:2]

    def _walk_alternatives(
        self, command: SimpleCommand, alternatives: list[tuple[str, tuple[str, ...]]], scope: Scope, frame: Frame
    ) -> None:
        """Walk a command once for each value that its variables may have."""
        layers: list[Scope] = []
        (name, values), remaining_alternatives = alternatives[0], alternatives[1:]
        for value in values:
            layer = Scope(scope)
            layer.set_variable(name, value)
            if remaining_alternatives:
                self._walk_alternatives(command, remaining_alternatives, layer, frame)
            else:
                self._walk_simple_command(command, layer, frame)
            del layer.variables[name]
            layers.append(layer)
        scope.merge_branches(layers, is_exhaustive=True)

    def walk_call(self, call: CommandCall, source_words: list[str] | None = None) -> str | None:
        """Record a command and walk what it runs; return its constant output.

        `source_words` are its words as written, for a command that stands in a text: only those can be aliases.
        """
        words, scope = call.words, call.scope
        if (
            source_words
            and words
            and self.has_replacements
            and (replacement := self._walk_replacement(words[0].text, call, source_words)) is not None
        ):
            return replacement.output
        if not words and not call.redirects and not call.assignments:
            return "" if call.frame.is_captured else None
        self._emit_draft(call)
        if call.assignments:
            exec_options.trace_command_variables(call)
        writes = (
            redirection.select_stdout_redirects(call.redirects)
            if call.redirects and not self.has_no_file_execution
            else None
        )
        if self.shell_output is not None and not (call.redirects or call.frame.is_captured):
            writes = None if self.has_no_file_execution else [self.shell_output]
        readers = redirection.select_shell_inputs(self, call.redirects, scope) if self.shell_inputs else []
        if not writes and not readers:
            return self._trace_call(call) if words else ""
        # `echo … > x.sh; bash x.sh`: the output is needed when the file is run.
        call.frame = call.frame.copy()
        call.frame.is_captured = True
        output = self._trace_call(call) if words else ""
        for redirect in writes or ():
            redirection.record_redirect_write(self, redirect, output, scope)
        if readers and output is None:
            output = redirection.read_copied_contents(self, len(self.drafts) - 1, scope)
        for reader in readers:
            if output is None:
                reader.record_code("shell", UNKNOWN)
            else:
                reader.walk_shell_text(output, inherit_stdin=False)
        return ""

    def _walk_replacement(self, name: str, call: CommandCall, source_words: list[str]) -> "_Replacement | None":
        """Walk the alias or function of that name; return its output if it certainly replaces the command."""
        alias = call.scope.find_alias(name)
        if alias is not None and source_words[0] == name and f"alias {name}" not in call.frame.via:
            # Only an interactive shell expands aliases; the caller does not know which kind it is, so both are walked.
            self.walk_text(
                " ".join([alias, *source_words[1:]]),
                call.scope,
                call.frame.create_inner_frame(f"alias {name}", call.span),
            )
        function = call.scope.find_function(name)
        if function is None or f"{name}()" in call.frame.via:
            return None
        output = self._walk_function(name, function[0], call)
        return _Replacement(output) if function[1] else None

    def _trace_call(self, call: CommandCall) -> str | None:
        first = call.words[0].text
        call.name = name = "" if UNKNOWN in first else first.rsplit("/", 1)[-1]
        if not name:
            self._walk_unknown_name(call)
            return None
        if call.words[0].glob:
            self._walk_wildcard_name(call)
        # A letter of another script or an invisible character: the reader sees `rm`, the shell runs another program.
        if not name.isascii() and (likeness := find_lookalike(name)):
            self.add_problem(f"`{name}` only looks like `{likeness}`")
        if name in evaluated_text.EVALUATING_BUILTINS:
            evaluated_text.walk_evaluated_words(call)
        if self._exports_functions:
            evaluated_text.walk_exported_functions(call)
        if (effect := builtin.BUILTINS.get(name)) is not None:
            effect(self, call.words, call.scope, call.frame)
        output = inner_commands.trace_inner_commands(call)
        return predict_output(call) if output is None and call.frame.is_captured else output

    def _walk_unknown_name(self, call: CommandCall) -> None:
        """Walk what runs when an unknown part of the name is empty: `$SUDO rm x`, `r${x}m x`, `$VENV/bin/python x`."""
        words = call.words
        known = words[0].text.replace(UNKNOWN, "")
        if not known and len(words) > 1 and words[0].raw[:1] == "$" and _PROGRAM_NAME.fullmatch(words[1].text):
            inner_words = words[1:]
        elif known and not known.endswith("/"):
            inner_words = [Word(known, words[0].raw), *words[1:]]
        else:
            return
        call.frame = call.frame.as_conditional()
        call.walk_command(inner_words, label=words[0].raw)

    def _walk_wildcard_name(self, call: CommandCall) -> None:
        """Walk the programs that a name made of wildcards may match, as in `/b?n/r?`."""
        words = call.words
        call.frame = call.frame.as_conditional()
        for name in guess_programs(words[0].text):
            call.walk_command([Word(name, words[0].raw), *words[1:]], label=words[0].raw)

    def _walk_function(self, name: str, body: Statement, call: CommandCall) -> str | None:
        self._uncalled_functions.pop(id(body), None)
        scope, words = call.scope, call.words
        if call.redirects:
            call.words = []
            self._emit_draft(call)
            call.words = words
        # It runs in the same shell: variables stay set, except its arguments and what it declares local.
        before, scope.arguments = scope.arguments, [word.text for word in words[1:]]
        outside, self.local_variables = self.local_variables, {}
        frame = call.frame.create_inner_frame(f"{name}()", call.span)
        if not call.redirects:
            frame.is_captured = call.frame.is_captured
        output = self.walk_statement(body, scope, frame if frame.is_captured else frame.without_capture())
        for local, value in self.local_variables.items():
            scope.restore_variable(local, value)
        scope.arguments, self.local_variables = before, outside
        return output

    def _emit_draft(self, call: CommandCall) -> None:
        frame, cwd, drafts = call.frame, call.scope.cwd, self.drafts
        index = call.index = len(drafts)
        draft = CommandDraft(
            argv=tuple(call.words),
            assignments=call.assignments,
            redirects=call.redirects,
            cwd=None if cwd is None else Word(cwd, cwd),
            via=frame.via,
            host=frame.host,
            stdin=frame.stdin,
            pipe_from=frame.pipe_from,
            background=frame.background,
            conditional=frame.conditional,
            repeated=frame.repeated,
            span=call.span,
            depth=frame.depth,
        )
        drafts.append(draft)
        if call.first_inner_index is not None:
            for inner in range(call.first_inner_index, index):
                # The commands inside its words produced its words.
                if drafts[inner].feeds is None:
                    drafts[inner].feeds = index
