"""Expansion of words: from a word as written to the words it stands for, as far as constants allow."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell import brace_expansion, delimiters, parameter_expansion
from verdikt.shell.arithmetic import evaluate_arithmetic
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.escape_sequences import decode_escapes
from verdikt.shell.evaluated_text import walk_arithmetic_names
from verdikt.shell.lexer import WORD, Lexer
from verdikt.shell.scope import UNSET, Scope, VariableValue, WildcardValue

_PLAIN_WORD = compile_lazily(r"[A-Za-z0-9_./:@%+,=-]+")
_PLAIN_RUN = r"(?:[A-Za-z0-9_./:@%+,=-][A-Za-z0-9_./:@%+,=~^-]*)?"
_CONSTANT_WORD = compile_lazily(rf"""(?=.){_PLAIN_RUN}(?:(?:'[^']*'|"[^"$`\\]*"){_PLAIN_RUN})*""", re.DOTALL)
_QUOTED_STRING = compile_lazily(r"""'([^']*)'|"([^"]*)\"""")
_QUOTED_VARIABLE = compile_lazily(r'"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})"')
_WORD_PART = compile_lazily(
    r"""(?P<plain>[^\\'"$`<>*?\[]+)
    | (?P<wild>[*?\[])
    | '(?P<single>[^']*)'
    | \\(?P<escape>.)
    | \$'(?P<ansi>[^'\\]*(?:\\.[^'\\]*)*)'
    | \$(?P<name>[A-Za-z_]\w*|[0-9@*\#?$!-])
    | (?P<open>"|\$\(|\$\{|`|<\(|>\()
    | (?P<rest>.)""",
    re.VERBOSE | re.DOTALL,
)
_DOUBLE_QUOTED_PART = compile_lazily(
    r"""(?P<plain>[^\\$`]+)
    | \\(?P<escape>[$`"\\\n])
    | \$(?P<name>[A-Za-z_]\w*|[0-9@*\#?$!-])
    | (?P<open>\$\(|\$\{|`)
    | (?P<rest>.)""",
    re.VERBOSE | re.DOTALL,
)
_TILDE = compile_lazily(r"~([A-Za-z_][\w-]*|[+-])?(?=/|$)")
# Limits: values are copied each time they are expanded, so a short text can ask for gigabytes.
_MAX_FIELDS = 512
_FREE_VALUE_LENGTH = 64
_MAX_CACHED_LENGTH = 256
MAX_NESTING = 90
_MAX_EXPANDED_SIZE = 1 << 23


def to_plain_word(raw: str) -> Word | None:
    """Return the word itself when nothing in it can expand, else None."""
    return _cached_plain_word(raw) if len(raw) <= _MAX_CACHED_LENGTH else _match_plain_word(raw)


def _match_plain_word(raw: str) -> Word | None:
    if _PLAIN_WORD.fullmatch(raw):
        return Word(raw, raw)
    if _CONSTANT_WORD.fullmatch(raw):
        return Word(_QUOTED_STRING.sub(r"\1\2", raw), raw)
    return None


# The same few words come again and again; long ones are not worth the memory.
_cached_plain_word = lru_cache(maxsize=4096)(_match_plain_word)


class _FieldBuilder:
    """Fields under construction from one written word."""

    __slots__ = ("current_parts", "finished_fields", "glob", "has_content", "ifs", "split")

    def __init__(self, split: bool, ifs: str) -> None:
        self.finished_fields: list[tuple[str, bool]] = []
        self.current_parts: list[str] = []
        self.has_content = False
        self.glob = False
        self.split = split
        self.ifs = ifs

    def add_text(self, text: str) -> None:
        self.current_parts.append(text)
        self.has_content = True

    def end_field(self) -> None:
        if self.has_content:
            self.finished_fields.append(("".join(self.current_parts), self.glob))
        self.current_parts, self.has_content, self.glob = [], False, False

    def add_unquoted(self, text: str) -> None:
        """Add an unquoted expansion: split into fields, with live wildcards."""
        if not text:
            return
        if not self.split or not any(mark in text for mark in self.ifs):
            self.add_text(text)
            self.glob = self.glob or _has_wildcard(text)
            return
        pieces = re.split(f"[{re.escape(self.ifs)}]+", text)
        for index, piece in enumerate(pieces[:_MAX_FIELDS]):
            if index:
                self.end_field()
            if piece:
                self.add_text(piece)
                self.glob = self.glob or _has_wildcard(piece)

    def add_values(self, values: list[str], quoted: bool) -> None:
        """Add the values of `$@` or `${a[@]}`, one field for each."""
        for index, value in enumerate(values[:_MAX_FIELDS]):
            if index:
                self.end_field()
            if quoted:
                self.add_text(value)
            else:
                self.add_unquoted(value)


class Expander(ABC):
    """Expander of words in a scope; the walkers inherit from it, because words contain commands."""

    nesting_level = 0  # how many brackets, quotes and statements are being gone through
    _expanded_size = 0

    environment: Mapping[str, str]
    problems: dict[str, None]

    def add_problem(self, message: str) -> None:
        """Record what could not be understood."""
        self.problems[message] = None

    def spend_text_budget(self, size: int) -> bool:
        """Whether so much more constant text may be built: a few lines can ask for gigabytes."""
        self._expanded_size += size
        return self._expanded_size < _MAX_EXPANDED_SIZE

    @abstractmethod
    def substitute_command(self, text: str, scope: Scope, opener: str) -> str:
        """Return the output of the command in `$(…)`, `<(…)` or `>(…)`, perhaps with unknown parts."""

    def expand_words(self, raw: str, scope: Scope) -> list[Word]:
        """Return the words that one written word stands for: none when it vanishes, several when it splits."""
        if (word := to_plain_word(raw)) is not None:
            return [word]
        if raw[0] == '"' and (simple := _QUOTED_VARIABLE.fullmatch(raw)) is not None:
            value = self.look_up(simple[1] or simple[2], scope)
            if isinstance(value, str) and len(value) < _FREE_VALUE_LENGTH:
                return [Word(value, raw, isinstance(value, WildcardValue))]
        raws = (
            brace_expansion.expand_braces(raw) if "{" in raw and "}" in raw and ("," in raw or ".." in raw) else (raw,)
        )
        words: list[Word] = []
        for alternative in raws:
            fields = _FieldBuilder(True, self._get_ifs(scope))
            self._expand_parts(alternative, scope, fields)
            fields.end_field()
            words += [Word(text, raw, glob) for text, glob in fields.finished_fields]
        return words

    def expand_word(self, raw: str, scope: Scope) -> Word:
        """Expand a word that is never split: the value of an assignment, the target of a redirection."""
        if _PLAIN_WORD.fullmatch(raw):
            return Word(raw, raw)
        fields = _FieldBuilder(False, "")
        self._expand_parts(raw, scope, fields, is_assignment=True)
        return Word("".join(fields.current_parts), raw, fields.glob)

    def expand_quoted(self, body: str, scope: Scope) -> str:
        """Expand the contents of double quotes, or of a here-document without quotes."""
        if not ("$" in body or "`" in body or "\\" in body):
            return body
        fields = _FieldBuilder(False, "")
        self._expand_double_quotes(body, scope, fields)
        return "".join(fields.current_parts)

    def expand_array(self, raw: str, scope: Scope) -> list[str]:
        """Return the values of `(a b c)`; one unknown value when it contains more than words."""
        values: list[str] = []
        for kind, source, *_ in Lexer(raw[1:-1].replace("\n", " ")).tokens:
            if kind != WORD:
                return [UNKNOWN]
            raw_value = source.split("]=", 1)[1] if source.startswith("[") and "]=" in source else source
            values += [
                WildcardValue(word.text) if word.glob else word.text for word in self.expand_words(raw_value, scope)
            ]
        return values

    def look_up(self, name: str, scope: Scope) -> VariableValue:
        """Return a variable's value; UNKNOWN when neither the text nor the caller sets it."""
        value = scope.get_variable(name)
        if value is not None:
            return value
        if name[0].isdigit():
            return self._get_argument(int(name[:4]), scope)
        if name in ("@", "*"):
            return [UNKNOWN] if scope.arguments is None else scope.arguments
        if name == "#":
            return UNKNOWN if scope.arguments is None else str(len(scope.arguments))
        if name == "PWD" and scope.cwd is not None:
            return scope.cwd
        return self.environment.get(name, UNKNOWN)

    @staticmethod
    def _get_argument(number: int, scope: Scope) -> str | tuple[str, ...]:
        if scope.arguments is None:
            return UNKNOWN
        if number == 0:
            return "bash"
        return scope.arguments[number - 1] if number <= len(scope.arguments) else UNSET

    def join_values(self, values: list[str], scope: Scope) -> str:
        """Return the values joined by the first separator, as `"$*"` does."""
        return self._get_ifs(scope)[:1].join(values)

    def _get_ifs(self, scope: Scope) -> str:
        value = scope.get_variable("IFS")
        return " \t\n" if not isinstance(value, str) or UNKNOWN in value else value

    def _expand_parts(self, raw: str, scope: Scope, fields: _FieldBuilder, is_assignment: bool = False) -> None:
        at, size = 0, len(raw)
        if raw[:1] == "~" and (tilde := _TILDE.match(raw)):
            fields.add_text(self._expand_tilde(tilde[1] or "", scope))
            at = tilde.end()
        while at < size:
            part = _WORD_PART.match(raw, at)
            if part is None:
                break
            kind, begin, at = part.lastgroup, at, part.end()
            if kind == "plain":
                text = part["plain"]
                fields.add_text(self._expand_path_tildes(text, scope) if is_assignment and ":~" in text else text)
            elif kind == "single":
                fields.add_text(part["single"])
            elif kind == "escape":
                if part["escape"] != "\n":
                    fields.add_text(part["escape"])
            elif kind == "wild":
                fields.add_text(part["wild"])
                fields.glob = fields.glob or part["wild"] != "[" or raw.rfind("]") > at
            elif kind == "ansi":
                fields.add_text(decode_escapes(part["ansi"], is_ansi_c=True))
            elif kind == "name":
                self._add_value(
                    self.look_up(part["name"], scope), fields, quoted=False, as_separate_words=part["name"] in "@*"
                )
            elif kind == "open":
                at = self._expand_enclosed(raw, begin, part["open"], scope, fields, quoted=False)
            elif not (part["rest"] == "$" and raw[at : at + 1] == '"'):
                fields.add_text(part["rest"])

    def _expand_double_quotes(self, body: str, scope: Scope, fields: _FieldBuilder) -> None:
        # Without arguments `"$@"` is no word at all, where any other pair of quotes is an empty one.
        fields.has_content = fields.has_content or body != "$@" or scope.arguments != []
        at, size = 0, len(body)
        while at < size:
            part = _DOUBLE_QUOTED_PART.match(body, at)
            if part is None:
                break
            kind, begin, at = part.lastgroup, at, part.end()
            if kind == "plain":
                fields.add_text(part["plain"])
            elif kind == "escape":
                if part["escape"] != "\n":
                    fields.add_text(part["escape"])
            elif kind == "name":
                value = self.look_up(part["name"], scope)
                if part["name"] == "*" and isinstance(value, list):
                    value = self.join_values(value, scope)
                self._add_value(value, fields, quoted=True, as_separate_words=part["name"] == "@")
            elif kind == "open":
                at = self._expand_enclosed(body, begin, part["open"], scope, fields, quoted=True)
            else:
                fields.add_text(part["rest"])

    def _expand_enclosed(
        self, raw: str, begin: int, opener: str, scope: Scope, fields: _FieldBuilder, *, quoted: bool
    ) -> int:
        """Expand what a bracket or a quote contains; return the index after it."""
        stop = delimiters.find_closing(raw, begin, opener)
        if stop < 0:
            # The lexer has reported that it is never closed; the commands in it are walked all the same.
            inside, stop = raw[begin + len(opener) :], len(raw)
        else:
            inside = raw[begin + len(opener) : stop - 1]
        if self.nesting_level > MAX_NESTING:
            self.add_problem("it is nested too deeply to follow")
            fields.add_text(UNKNOWN)
            return stop
        self.nesting_level += 1
        if opener == '"':
            self._expand_double_quotes(inside, scope, fields)
        elif opener == "${":
            value, every = parameter_expansion.expand_parameter(inside, scope, self, quoted=quoted)
            self._add_value(value, fields, quoted=quoted, as_separate_words=every)
        elif opener == "$(" and inside.startswith("(") and _is_arithmetic(inside):
            walk_arithmetic_names(self, inside, scope)
            number = evaluate_arithmetic(
                self.expand_quoted(inside[1:-1], scope), lambda name: self._get_number(name, scope)
            )
            self._add_value(UNKNOWN if number is None else str(number), fields, quoted=quoted, as_separate_words=False)
        else:
            if opener == "`":
                inside = re.sub(r"\\([$`\\\"])" if quoted else r"\\([$`\\])", r"\1", inside)
            output = self.substitute_command(inside, scope, opener)
            self._add_value(output, fields, quoted=quoted or opener in ("<(", ">("), as_separate_words=False)
        self.nesting_level -= 1
        return stop

    def _get_number(self, name: str, scope: Scope) -> str:
        value = self.look_up(name, scope)
        return value if isinstance(value, str) else UNKNOWN

    def _add_value(self, value: VariableValue, fields: _FieldBuilder, *, quoted: bool, as_separate_words: bool) -> None:
        if isinstance(value, list):
            if as_separate_words:
                fields.add_values(value, quoted)
                return
            value = value[0] if value else ""
        elif isinstance(value, tuple):
            value = UNKNOWN if value else ""
        if len(value) > _FREE_VALUE_LENGTH and not self.spend_text_budget(len(value)):
            value = UNKNOWN
        if quoted:
            fields.add_text(value)
            fields.glob = fields.glob or isinstance(value, WildcardValue)
        else:
            fields.add_unquoted(value)

    def _expand_tilde(self, user: str, scope: Scope) -> str:
        if user == "+":
            value = self.look_up("PWD", scope)
        elif user == "-":
            value = self.look_up("OLDPWD", scope)
        elif user:
            # The password database is not part of the text; this is where homes are on nearly every system.
            return "/root" if user == "root" else f"/home/{user}"
        else:
            value = self.look_up("HOME", scope)
        return value if isinstance(value, str) and value != UNKNOWN else "~"

    def _expand_path_tildes(self, text: str, scope: Scope) -> str:
        return re.sub(r":~(?=/|:|$)", lambda _: ":" + self._expand_tilde("", scope), text)


def _has_wildcard(text: str) -> bool:
    """Whether a text contains a live wildcard."""
    if "*" in text or "?" in text:
        return True
    opened = text.find("[")
    return opened >= 0 and text.rfind("]") > opened + 1


def _is_arithmetic(inside: str) -> bool:
    """Whether `$((…))` is arithmetic, and not `$( (a); (b) )` without blanks."""
    return inside.endswith(")") and delimiters.find_closing(inside, 0, "(", may_have_case=False) == len(inside)
