"""Simple commands → drafts, with everything inside them."""

from abc import abstractmethod
from collections.abc import Callable, Mapping

from verdikt.model.regex import regex
from verdikt.shell import builtin, escape, nest, redirect
from verdikt.shell.command import UNKNOWN, Code, Word
from verdikt.shell.draft import Draft
from verdikt.shell.expand import Expander, plain_word
from verdikt.shell.frame import Frame
from verdikt.shell.invocation import Invocation
from verdikt.shell.lexer import TARGET, WORD, Lexer
from verdikt.shell.likeness import candidates, lookalike
from verdikt.shell.output import constant_output
from verdikt.shell.scope import Scope, Value, known_environment
from verdikt.shell.statement import Function, Simple, Statement

_MOST_COMMANDS = 20_000
_NAMES = regex(r"[A-Za-z_]\w*")
_PROGRAM = regex(r"[a-z][a-z0-9_-]*")
_SET = regex(r"([A-Za-z_]\w*)(?:\[[^\]]{0,200}\])?\s{0,9}(?:\+\+|--|[-+*/%&|^]?=(?!=)|<<=|>>=)")

_MARK = regex(r"[;|&\n]")
_RUNS_FILES = regex(
    r"sh\b|source|python|node|perl|ruby|php|lua|make|npm|yarn|bun|just|eval|chmod|exec|<|[;|&({\s][.~/$`\"']"
)

_OUTERMOST = Frame()

Read = Callable[[str], str | None]


class Runner(Expander):
    """Runs simple commands in thought. What it finds is in `drafts`, `codes` and `problems`."""

    locals: dict[str, Value | None] | None = None  # what a function's own variables hid
    renames = False  # there are aliases or functions
    _whole = ""
    _alone: bool | None = None

    def __init__(
        self, *, home: str = "", cwd: str = "", env: Mapping[str, str] | None = None, read: Read | None = None
    ) -> None:
        self.environment = known_environment(env, home, cwd)
        self.problems = {}
        self.start = cwd
        self.read = read
        self.drafts: list[Draft] = []
        self.codes: list[Code] = []
        self.at_exit: list[tuple[Invocation, str]] = []  # what `trap … EXIT` keeps for the end
        self._uncalled: dict[int, tuple[Function, Scope, Frame]] = {}
        self._parsed: dict[str, Statement] = {}
        self._outer = _OUTERMOST  # the circumstances of the words being expanded

    @property
    def alone(self) -> bool:
        """Whether nothing in the text can run what it writes."""
        if self._alone is None:
            mark = _MARK.search(self._whole)
            self._alone = mark is None or _RUNS_FILES.search(self._whole, mark.start()) is None
        return self._alone

    @abstractmethod
    def text(self, text: str, scope: Scope, frame: Frame) -> str | None:
        """Walks a text inside the text; its constant output when somebody reads it."""

    @abstractmethod
    def walk(self, statement: Statement, scope: Scope, frame: Frame) -> str | None:
        """Walks a statement; its constant output when somebody reads it."""

    def _words(self, raws: list[str], scope: Scope, frame: Frame) -> list[Word]:
        self._outer = frame
        words: list[Word] = []
        for raw in raws:
            if len(raw) < 256 and (word := plain_word(raw)) is not None:
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
                call.frame = frame.reading(stdin, source=redirect.source(call.redirects))
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
        if call.words[0].glob:
            self._guessed(call)
        if not name.isascii() and (likeness := lookalike(name)):
            self.problem(f"`{name}` only looks like `{likeness}`")
        if (effect := builtin.BUILTINS.get(name)) is not None:
            effect(self, call.words, call.scope, call.frame)
        output = nest.enter(call)
        return constant_output(call) if output is None and call.frame.capture else output

    def _unnamed(self, call: Invocation) -> None:
        """What runs when an unknown part of the name is empty: `$SUDO rm x`, `r${x}m x`, `$VENV/bin/python x`."""
        words = call.words
        known = words[0].text.replace(UNKNOWN, "")
        if not known and len(words) > 1 and words[0].raw[:1] == "$" and _PROGRAM.fullmatch(words[1].text):
            rest = words[1:]
        elif known and not known.endswith("/"):
            rest = [Word(known, words[0].raw), *words[1:]]
        else:
            return
        call.frame = call.frame.conditionally()
        call.run(rest, label=words[0].raw)

    def _guessed(self, call: Invocation) -> None:
        """`/b?n/r?`: what a name made of wildcards may turn out to be."""
        words = call.words
        call.frame = call.frame.conditionally()
        for name in candidates(words[0].text):
            call.run([Word(name, words[0].raw), *words[1:]], label=words[0].raw)

    def _function(self, name: str, body: Statement, call: Invocation) -> None:
        self._uncalled.pop(id(body), None)
        scope, words = call.scope, call.words
        if call.redirects:
            call.words = []
            self._emit(call)
            call.words = words
        # It runs in the same shell: what it sets stays set, except its arguments and what it declares local.
        before, scope.arguments = scope.arguments, [word.text for word in words[1:]]
        outside, self.locals = self.locals, {}
        self.walk(body, scope, call.frame.inside(f"{name}()", call.span).silently())
        for local, value in self.locals.items():
            scope.restore(local, value)
        scope.arguments, self.locals = before, outside

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
