"""A word as written → the words it stands for, as far as constants allow."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache

from verdikt.model.regex import regex
from verdikt.shell import brace, parameter, span
from verdikt.shell.arithmetic import evaluate
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.quoting import unescape
from verdikt.shell.scope import UNSET, Pattern, Scope, Value

_PLAIN = regex(r"[A-Za-z0-9_./:@%+,=-]+")
_CONSTANT = regex(r"""(?:[A-Za-z0-9_./:@%+,=-][A-Za-z0-9_./:@%+,=~^-]*+|'[^']*+'|"[^"$`\\]*+")++""")
_QUOTED = regex(r"""'([^']*)'|"([^"]*)\"""")
_VARIABLE = regex(r'"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})"')
_PART = regex(
    r"""(?P<plain>[^\\'"$`<>*?\[]+)
    | (?P<wild>[*?\[])
    | '(?P<single>[^']*)'
    | \\(?P<escape>.)
    | \$'(?P<ansi>(?:[^'\\]|\\.)*+)'
    | \$(?P<name>[A-Za-z_]\w*|[0-9@*\#?$!-])
    | (?P<open>"|\$\(|\$\{|`|<\(|>\()
    | (?P<rest>.)""",
    re.VERBOSE | re.DOTALL,
)
_IN_DOUBLE = regex(
    r"""(?P<plain>[^\\$`]+)
    | \\(?P<escape>[$`"\\\n])
    | \$(?P<name>[A-Za-z_]\w*|[0-9@*\#?$!-])
    | (?P<open>\$\(|\$\{|`)
    | (?P<rest>.)""",
    re.VERBOSE | re.DOTALL,
)
_TILDE = regex(r"~([A-Za-z_][\w-]*|[+-])?(?=/|$)")
_MOST_FIELDS = 512
_SMALL = 64
_REMEMBERED = 256
DEEPEST = 90
_LARGEST_VOLUME = 1 << 23


def plain_word(raw: str) -> Word | None:
    """The word itself when nothing in it can expand; the same few words come again and again, and those are short."""
    return _kept_word(raw) if len(raw) <= _REMEMBERED else _plain_word(raw)


def _plain_word(raw: str) -> Word | None:
    if _PLAIN.fullmatch(raw):
        return Word(raw, raw)
    if _CONSTANT.fullmatch(raw):
        return Word(_QUOTED.sub(r"\1\2", raw), raw)
    return None


_kept_word = lru_cache(maxsize=4096)(_plain_word)


class _Fields:
    """The words being made of one written word."""

    __slots__ = ("current", "done", "glob", "ifs", "split", "started")

    def __init__(self, split: bool, ifs: str) -> None:
        self.done: list[tuple[str, bool]] = []
        self.current: list[str] = []
        self.started = False
        self.glob = False
        self.split = split
        self.ifs = ifs

    def add(self, text: str) -> None:
        self.current.append(text)
        self.started = True

    def cut(self) -> None:
        if self.started:
            self.done.append(("".join(self.current), self.glob))
        self.current, self.started, self.glob = [], False, False

    def value(self, text: str) -> None:
        """An unquoted expansion: split into fields, wildcards live."""
        if not text:
            return
        if not self.split or not any(mark in text for mark in self.ifs):
            self.add(text)
            self.glob = self.glob or _wild(text)
            return
        pieces = re.split(f"[{re.escape(self.ifs)}]+", text)
        for index, piece in enumerate(pieces[:_MOST_FIELDS]):
            if index:
                self.cut()
            if piece:
                self.add(piece)
                self.glob = self.glob or _wild(piece)

    def several(self, values: list[str], quoted: bool) -> None:
        """`$@` and `${a[@]}`: a field for each."""
        for index, value in enumerate(values[:_MOST_FIELDS]):
            if index:
                self.cut()
            if quoted:
                self.add(value)
            else:
                self.value(value)


class Expander(ABC):
    """Expands words in a scope. Whoever goes through the text is one, because words hold commands."""

    level = 0  # how many brackets, quotes and statements are being gone through
    _volume = 0

    environment: Mapping[str, str]
    problems: dict[str, None]

    def problem(self, words: str) -> None:
        """Notes what could not be understood."""
        self.problems[words] = None

    def spend(self, size: int) -> bool:
        """Whether so much more constant text may be made: a few lines can ask for gigabytes."""
        self._volume += size
        return self._volume < _LARGEST_VOLUME

    @abstractmethod
    def substitute(self, text: str, scope: Scope, opener: str) -> str:
        """What the command in `$(…)`, `<(…)` or `>(…)` would print, perhaps with unknown parts."""

    def words(self, raw: str, scope: Scope) -> list[Word]:
        """The words that one written word stands for: none when it vanishes, several when it splits."""
        if (word := plain_word(raw)) is not None:
            return [word]
        if raw[0] == '"' and (simple := _VARIABLE.fullmatch(raw)) is not None:
            value = self.look_up(simple[1] or simple[2], scope)
            if isinstance(value, str) and len(value) < _SMALL:
                return [Word(value, raw, isinstance(value, Pattern))]
        raws = brace.expand(raw) if "{" in raw and "}" in raw and ("," in raw or ".." in raw) else (raw,)
        found: list[Word] = []
        for one in raws:
            fields = _Fields(True, self._ifs(scope))
            self._expand(one, scope, fields)
            fields.cut()
            found += [Word(text, raw, glob) for text, glob in fields.done]
        return found

    def word(self, raw: str, scope: Scope) -> Word:
        """One word, never split: the value of an assignment, the target of a redirection."""
        if _PLAIN.fullmatch(raw):
            return Word(raw, raw)
        fields = _Fields(False, "")
        self._expand(raw, scope, fields, assigned=True)
        return Word("".join(fields.current), raw, fields.glob)

    def quoted(self, body: str, scope: Scope) -> str:
        """The contents of double quotes, of a here-document without quotes."""
        if not ("$" in body or "`" in body or "\\" in body):
            return body
        fields = _Fields(False, "")
        self._double(body, scope, fields)
        return "".join(fields.current)

    def array(self, raw: str, scope: Scope) -> list[str]:
        """The values of `(a b c)`; an element with a subscript of its own makes it unknown."""
        from verdikt.shell.lexer import WORD, Lexer

        values: list[str] = []
        for kind, source, *_ in Lexer(raw[1:-1].replace("\n", " ")).tokens:
            if kind != WORD:
                return [UNKNOWN]
            raw_value = source.split("]=", 1)[1] if source.startswith("[") and "]=" in source else source
            values += [Pattern(word.text) if word.glob else word.text for word in self.words(raw_value, scope)]
        return values

    def look_up(self, name: str, scope: Scope) -> Value:
        """A variable: UNKNOWN when neither the text nor the caller says."""
        value = scope.get(name)
        if value is not None:
            return value
        if name[0].isdigit():
            return self._argument(int(name[:4]), scope)
        if name in ("@", "*"):
            return [UNKNOWN] if scope.arguments is None else scope.arguments
        if name == "#":
            return UNKNOWN if scope.arguments is None else str(len(scope.arguments))
        if name == "PWD" and scope.cwd is not None:
            return scope.cwd
        return self.environment.get(name, UNKNOWN)

    @staticmethod
    def _argument(number: int, scope: Scope) -> str | tuple[str, ...]:
        if scope.arguments is None:
            return UNKNOWN
        if number == 0:
            return "bash"
        return scope.arguments[number - 1] if number <= len(scope.arguments) else UNSET

    def joined(self, values: list[str], scope: Scope) -> str:
        """`"$*"`: the values with the first separator between them."""
        return self._ifs(scope)[:1].join(values)

    def _ifs(self, scope: Scope) -> str:
        value = scope.get("IFS")
        return " \t\n" if not isinstance(value, str) or UNKNOWN in value else value

    def _expand(self, raw: str, scope: Scope, fields: _Fields, assigned: bool = False) -> None:
        at, size = 0, len(raw)
        if raw[:1] == "~" and (tilde := _TILDE.match(raw)):
            fields.add(self._tilde(tilde[1] or "", scope))
            at = tilde.end()
        while at < size:
            found = _PART.match(raw, at)
            if found is None:
                break
            kind, begin, at = found.lastgroup, at, found.end()
            if kind == "plain":
                text = found["plain"]
                fields.add(self._tildes(text, scope) if assigned and ":~" in text else text)
            elif kind == "single":
                fields.add(found["single"])
            elif kind == "escape":
                if found["escape"] != "\n":
                    fields.add(found["escape"])
            elif kind == "wild":
                fields.add(found["wild"])
                fields.glob = fields.glob or found["wild"] != "[" or raw.rfind("]") > at
            elif kind == "ansi":
                fields.add(unescape(found["ansi"], ansi=True))
            elif kind == "name":
                self._put(self.look_up(found["name"], scope), fields, quoted=False, every=found["name"] in "@*")
            elif kind == "open":
                at = self._open(raw, begin, found["open"], scope, fields, quoted=False)
            elif not (found["rest"] == "$" and raw[at : at + 1] == '"'):
                fields.add(found["rest"])

    def _double(self, body: str, scope: Scope, fields: _Fields) -> None:
        fields.started = True
        at, size = 0, len(body)
        while at < size:
            found = _IN_DOUBLE.match(body, at)
            if found is None:
                break
            kind, begin, at = found.lastgroup, at, found.end()
            if kind == "plain":
                fields.add(found["plain"])
            elif kind == "escape":
                if found["escape"] != "\n":
                    fields.add(found["escape"])
            elif kind == "name":
                value = self.look_up(found["name"], scope)
                if found["name"] == "*" and isinstance(value, list):
                    value = self.joined(value, scope)
                self._put(value, fields, quoted=True, every=found["name"] == "@")
            elif kind == "open":
                at = self._open(body, begin, found["open"], scope, fields, quoted=True)
            else:
                fields.add(found["rest"])

    def _open(self, raw: str, begin: int, opener: str, scope: Scope, fields: _Fields, *, quoted: bool) -> int:
        """Expands what a bracket or a quote holds; the index after it."""
        stop = span.end(raw, begin, opener)
        if stop < 0:
            # The lexer has said that it is never closed: what follows is anyone's guess, but what it holds may run.
            inside, stop = raw[begin + len(opener) :], len(raw)
        else:
            inside = raw[begin + len(opener) : stop - 1]
        if self.level > DEEPEST:
            self.problem("it is nested too deeply to follow")
            fields.add(UNKNOWN)
            return stop
        self.level += 1
        if opener == '"':
            self._double(inside, scope, fields)
        elif opener == "${":
            value, every = parameter.expand(inside, scope, self, quoted=quoted)
            self._put(value, fields, quoted=quoted, every=every)
        elif opener == "$(" and inside.startswith("(") and _balanced(inside):
            number = evaluate(self.quoted(inside[1:-1], scope), lambda name: self._number(name, scope))
            self._put(UNKNOWN if number is None else str(number), fields, quoted=quoted, every=False)
        else:
            if opener == "`":
                inside = re.sub(r"\\([$`\\\"])" if quoted else r"\\([$`\\])", r"\1", inside)
            output = self.substitute(inside, scope, opener)
            self._put(output, fields, quoted=quoted or opener in ("<(", ">("), every=False)
        self.level -= 1
        return stop

    def _number(self, name: str, scope: Scope) -> str:
        value = self.look_up(name, scope)
        return value if isinstance(value, str) else UNKNOWN

    def _put(self, value: Value, fields: _Fields, *, quoted: bool, every: bool) -> None:
        if isinstance(value, list):
            if every:
                fields.several(value, quoted)
                return
            value = value[0] if value else ""
        elif isinstance(value, tuple):
            value = UNKNOWN if value else ""
        if len(value) > _SMALL and not self.spend(len(value)):
            value = UNKNOWN
        if quoted:
            fields.add(value)
            fields.glob = fields.glob or isinstance(value, Pattern)
        else:
            fields.value(value)

    def _tilde(self, user: str, scope: Scope) -> str:
        if user == "+":
            value = self.look_up("PWD", scope)
        elif user == "-":
            value = self.look_up("OLDPWD", scope)
        elif user:
            return "/root" if user == "root" else f"/home/{user}"
        else:
            value = self.look_up("HOME", scope)
        return value if isinstance(value, str) and value != UNKNOWN else "~"

    def _tildes(self, text: str, scope: Scope) -> str:
        return re.sub(r":~(?=/|:|$)", lambda _: ":" + self._tilde("", scope), text)


def _wild(text: str) -> bool:
    """Whether a text holds a live wildcard."""
    if "*" in text or "?" in text:
        return True
    opened = text.find("[")
    return opened >= 0 and text.rfind("]") > opened + 1


def _balanced(inside: str) -> bool:
    """Whether `$((…))` is arithmetic, and not `$( (a); (b) )` without blanks."""
    return inside.endswith(")") and span.end(inside, 0, "(", cases=False) == len(inside)
