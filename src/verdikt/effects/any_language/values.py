"""What the tokens of a unit stand for: places, parts of paths, secrets, hosts, what was fetched.

Names that are bound in the same text are followed; a value that the text does not show is unknown and counts as
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from posixpath import dirname, normpath

from verdikt.effects import host
from verdikt.effects.any_language.units import Token, iter_tokens
from verdikt.effects.any_language.word_families import (
    ENVIRONMENT_OWNERS,
    HOME_OWNERS,
    HOME_PROPERTY,
    HOME_VARIABLES,
    PACKAGE_VARIABLE,
    UNKNOWN_OWNERS,
    Family,
    find_families,
)
from verdikt.effects.secret_sends import is_listed_host
from verdikt.model.lazy_regex import compile_lazily

MAX_VALUES = 8
"""How many places, parts, secrets and hosts one name carries."""
UNKNOWN_PART = "\0"
_ADDRESS = compile_lazily(r"(?i)\b(?:https?|wss?|ftp|tcp|udp|tls)://[^\s\"'`<>\\]+")
_IP_ADDRESS = compile_lazily(r"(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?")
_HOST_NAME = compile_lazily(
    r"(?:[a-z0-9-]+\.)+(?!(?:json|ya?ml|toml|txt|js|ts|py|rb|sh|env|md|xml|lock|log|key|pem|cfg|conf"
    r"|so|jar|gz|zip|html|css|java|kt|go|rs|swift|dart|php|c|h|cpp)$)[a-z]{2,}(?::\d+)?"
)
_LEADING_VALUE = compile_lazily(
    r"(?:\$(?:ENV|env)?|#|\\)?(?:\{\{?\s*([^{}]*?)\s*\}?\}|\(([^()]*(?:\([^()]*\))?[^()]*)\))|\$(\w+)|%(\w+)%"
)
_FORMAT_FIELD = compile_lazily(r"(?:%[sv]|\{\d?\}|~[as])/(?=[\w.])(?!.*%)")
"""The beginning of a path in a format of `printf` and its kind."""
_INNER_NAME = compile_lazily(r"[$#\\%]?[{(]\s*[$@]?(\w+)|\$(\w+)")
_PATH_PART = compile_lazily(r"[\w.@+*?\[\]~-][\w.@+*?\[\]{}$()/#\\ -]{0,199}|/[\w.@+*-]+(?:/[\w.@+* -]+)*/?")
_SOURCE_DIRECTORY = compile_lazily(r"/(?:src|tests|benches|examples)/|/[^/]*$")
"""Where the sources of a package begin, or else the last part of a path."""
_PATH_LIST = compile_lazily(r"[^\s;]*/[^\s;]*(?:;[^\s;]*/[^\s;]*)+")
"""Paths in one text, as in builds of MSBuild and CMake."""
_NAMING_SIGNS = ("=", ":=", "<-", "+=", "?=", ":", "=>")
_HOMES = ("/home/", "/Users/", "/root")
_MACHINE_PATH = compile_lazily(r"/(?:home|Users|root|etc|usr|bin|lib|boot|System|Library|tmp|var)(?:/|$)")


@dataclass(slots=True)
class Value:
    """What a name or a unit stands for."""

    places: list[str] = field(default_factory=list)
    """Paths: absolute, or beginning with `~`."""
    parts: list[str] = field(default_factory=list)
    """Texts that may be a part of a path."""
    hosts: list[str] = field(default_factory=list)
    """Hosts that ordinary work does not talk to."""
    host_names: list[str] = field(default_factory=list)
    """Texts that are a host where something connects to them."""
    files: list[str] = field(default_factory=list)
    """Secret files, as they are written."""
    sends: bool = False
    is_fetched: bool = False
    has_environment: bool = False
    removes: bool = False
    """Whether it is a command line that deletes."""

    def merge(self, other: Value) -> None:
        """Add what another value stands for."""
        for mine, others in (
            (self.places, other.places),
            (self.parts, other.parts),
            (self.hosts, other.hosts),
            (self.host_names, other.host_names),
            (self.files, other.files),
        ):
            mine.extend([text for text in others if text not in mine][: MAX_VALUES - len(mine)])
        self.sends |= other.sends
        self.is_fetched |= other.is_fetched
        self.has_environment |= other.has_environment
        self.removes |= other.removes

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known."""
        return not (self.places or self.parts or self.hosts or self.files or self.has_environment)


class PathBuilder:
    """Puts a path together from the tokens of an expression, in the order in which they stand."""

    def __init__(self, base: str) -> None:
        self._base = base
        self.places: list[str] = []
        self.parts: list[str] = []
        self._current: str | None = None
        self._is_relative = False
        self._pending_climbs = 0
        self.number = 0
        """How many paths were begun."""
        self.depth = 0
        self.is_literal = False
        self.ending = ""
        """What a format puts after the place that it is given next: `"%s/x", home`."""

    @property
    def is_relative(self) -> bool:
        """Whether a path was begun whose own beginning may follow."""
        return self._is_relative

    @property
    def is_open(self) -> bool:
        """Whether a path was begun."""
        return self._current is not None

    def begin(self, root: str, *, is_relative: bool = False) -> None:
        """Begin a path at a place; one that was only relative before (`expand_path("..", __FILE__)`) starts there."""
        if self._is_relative and not is_relative and self._current is not None:
            root = normpath(f"{root}/{self._relative}")
            self._current = None
        self.finish()
        self.number += 1
        ending, self.ending = self.ending, ""
        self._relative = root if is_relative else ""
        self._is_relative = is_relative
        self._current = root if not is_relative else normpath(f"{self._base}/{root}")
        for _ in range(self._pending_climbs):
            self._current = climb(self._current)
        self._pending_climbs = 0
        if ending:
            self.append(ending)

    def separate(self, depth: int) -> None:
        """Close the path at a comma that ends its call, or that stands after a path that was written as a whole."""
        if depth < self.depth or (self.is_literal and depth == self.depth and not self._is_relative):
            self.finish()

    def append(self, part: str) -> None:
        """Add a part to the path that was begun, or remember it by itself."""
        if self._current is None:
            self.parts.append(part)
        else:
            self._current = join(self._current, part)

    def climb(self, levels: int = 1) -> None:
        """Go up from the path that was begun, or from the next one."""
        if self._current is None:
            self._pending_climbs += levels
            return
        for _ in range(levels):
            self._current = climb(self._current)

    def finish(self) -> None:
        """Close the path that was begun."""
        if self._current is not None:
            self.places.append(self._current)
        self._current, self._is_relative = None, False

    _relative = ""


def join(path: str, part: str) -> str:
    """Return a path below another; `~` stays at its beginning."""
    return normpath(f"{path}/{part}") if path[:1] != "~" else _join_home(path, part)


def _join_home(path: str, part: str) -> str:
    below = normpath(f"/{path[2:]}/{part.lstrip('/')}").replace("//", "/")
    return f"~{below}" if below != "/" else "~"


def climb(path: str) -> str:
    """Return the directory above; the home's own is that of all homes."""
    return "/home" if path == "~" else dirname(path) or "~"


class Evaluator:
    """Tells what tokens stand for, with the names that a text binds."""

    def __init__(self, path: str, project_root: str, home: str, *, base: str, ignores_home: bool) -> None:
        self.names: dict[str, Value] = {}
        self._home = home
        self._path = path
        self._root = project_root
        self._base = base
        self._ignores_home = ignores_home

    def evaluate(self, tokens: Sequence[Token]) -> Value:
        """Return what the tokens stand for together."""
        value = Value()
        builder = PathBuilder(self._base)
        for index, token in enumerate(tokens):
            number = builder.number
            if token.kind in ("string", "path", "address"):
                self._read_text(token, builder, value)
            elif token.text == ",":
                builder.separate(token.depth)
            elif token.kind == "name":
                self._read_name(tokens, index, builder, value)
            elif token.kind == "number" and _IP_ADDRESS.fullmatch(token.text):
                add_host(value, token.text)
            elif token.kind == "number" and index > 1 and tokens[index - 1].text == ",":
                self._climb_further(tokens, index, builder)
            if builder.number != number:
                # `getenv("HOME"), "x"`: the parts are arguments of the call around that which gives the beginning.
                is_last = index + 1 < len(tokens) and tokens[index + 1].text in (")", "]")
                builder.depth = token.depth - is_last
                builder.is_literal = token.kind != "name" and "/" in token.content
        builder.finish()
        value.merge(Value(places=builder.places[:MAX_VALUES], parts=builder.parts[:MAX_VALUES]))
        return value

    def _climb_further(self, tokens: Sequence[Token], index: int, builder: PathBuilder) -> None:
        """Read the levels of `dirname(__DIR__, 2)`."""
        before = [token.text for token in tokens[max(0, index - 4) : index]]
        if "dirname" in before and tokens[index].text.isdigit():
            builder.climb(min(int(tokens[index].text), 8) - 1)

    def _read_name(self, tokens: Sequence[Token], index: int, builder: PathBuilder, value: Value) -> None:
        name = tokens[index].text
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if (bound := self.names.get(name)) is not None and following in _NAMING_SIGNS:
            return  # it is named here, and not used
        if bound is not None and not _is_member(tokens, index):
            self._read_bound(bound, builder, value, is_field=_takes_field(tokens, index))
            return
        families = find_families(name)
        if Family.HOME in families and self._is_home(tokens, index):
            builder.begin("~")
        elif name == "home" and index > 1 and tokens[index - 2].text in HOME_OWNERS and not self._ignores_home:
            if tokens[index - 1].text in (".", "::", "/"):
                builder.begin("~")
        elif Family.FILE in families:
            builder.begin(self._path)
        elif Family.DIRECTORY in families or (
            name == "meta" and "dirname" in [t.text for t in tokens[index : index + 3]]
        ):
            builder.begin(dirname(self._path))
        elif name == "meta" and "url" in [token.text for token in tokens[index : index + 3]]:
            # An address is relative to the directory of the file: `new URL("..", import.meta.url)`.
            builder.begin(dirname(self._path) if builder.is_relative else self._path)
        elif Family.ROOT in families:
            builder.begin(self._root)
        elif Family.PARENT in families and (index < 2 or tokens[index - 2].text != "meta"):
            builder.climb(_count_levels(tokens, index))
        elif Family.ENVIRONMENT in families:
            value.has_environment |= _is_whole_environment(tokens, index)
        elif Family.TEMPORARY in families:
            builder.begin("/tmp")

    def _is_home(self, tokens: Sequence[Token], index: int) -> bool:
        if self._ignores_home:
            return False
        if tokens[index].text in HOME_VARIABLES:
            # `HOME=…` sets it, for what is started.
            return index + 1 >= len(tokens) or tokens[index + 1].text not in ("=", ":", "=>")
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        owner = tokens[index - 2].text if index > 1 and tokens[index - 1].text in (".", "::") else ""
        if following == "(" or tokens[index].text[:3].lower() == "get":
            return True
        if index > 0 and tokens[index - 1].kind == "name" and Family.PLACE in find_families(tokens[index - 1].text):
            return True  # `(find-system-path 'home-dir)`
        return (bool(owner) and owner not in UNKNOWN_OWNERS) or _is_substituted(tokens, index)

    def _read_bound(self, bound: Value, builder: PathBuilder, value: Value, *, is_field: bool) -> None:
        if bound.places:
            for place in bound.places[:-1]:
                value.places.append(place)
            builder.begin(bound.places[-1])
        for part in bound.parts if not bound.places else ():
            builder.append(part)
        others = Value(hosts=bound.hosts, host_names=bound.host_names, files=bound.files)
        others.sends, others.is_fetched, others.has_environment = bound.sends, bound.is_fetched, bound.has_environment
        if is_field:
            # One field of what was read, as of parsed settings, is not all of it.
            others.files, others.is_fetched, others.has_environment = [], False, False
        value.merge(others)

    def _read_text(self, token: Token, builder: PathBuilder, value: Value) -> None:
        text = token.content
        if match := _ADDRESS.search(text):
            add_host(value, match[0])
            self._read_inner_names(text, value)
            return
        if _IP_ADDRESS.fullmatch(text):
            add_host(value, text)
            return
        if _HOST_NAME.fullmatch(text):
            value.host_names.append(text)
        if text in HOME_VARIABLES or text == HOME_PROPERTY:
            if not self._ignores_home:
                builder.begin("~")
            return
        if text == "user.dir" or (text.isupper() and Family.ROOT in find_families(text)):
            builder.begin(self._root)
            return
        if text == PACKAGE_VARIABLE:
            builder.begin(_SOURCE_DIRECTORY.split(self._path, maxsplit=1)[0] if self._path else self._root)
            return
        if text.isupper() and Family.DIRECTORY in find_families(text):
            builder.begin(dirname(self._path))
            return
        if _PATH_LIST.fullmatch(text):
            for part in text.split(";"):
                builder.finish()
                self._read_path(part, builder, value)
            return
        self._read_path(text, builder, value)

    def _read_path(self, text: str, builder: PathBuilder, value: Value) -> None:
        text = text.removeprefix("file://").strip()
        if not text or "\n" in text or len(text) > 400:
            self._read_inner_names(text, value)
            return
        if text == "~" or text.startswith(("~/", "~\\")):
            if not self._ignores_home:
                builder.begin("~")
                self._append_parts(text[2:], builder)
            return
        if text == ".." or text.startswith("../"):
            if builder.is_open:
                self._append_parts(text, builder)
            else:
                builder.begin(self._substitute(text), is_relative=True)
            return
        if _MACHINE_PATH.match(text):
            # The home of another person stands in examples and in tests.
            is_other = text.startswith(_HOMES) and not f"{text}/".startswith(f"{self._home}/")
            builder.begin(UNKNOWN_PART if is_other else normpath(self._substitute(text)))
            return
        if (field := _FORMAT_FIELD.match(text)) is not None:
            builder.ending = text[field.end() :]
            return
        leading = _LEADING_VALUE.match(text)
        if leading and (leading.end() == len(text) or text[leading.end()] in "/.\\"):
            self._read_leading(next(filter(None, leading.groups()), ""), builder, value)
            self._append_parts(text[leading.end() :].lstrip("/"), builder)
            return
        self._read_inner_names(text, value)
        if _PATH_PART.fullmatch(text) and (" " not in text or "/" in text):
            self._append_parts(text.lstrip("/") if builder.is_open else text, builder)

    def _read_leading(self, inner: str, builder: PathBuilder, value: Value) -> None:
        """Read what a path begins with when it is a value: `${HOME}/x`, `#{Dir.home}/x`, `$(TOP)/x`."""
        before = len(builder.places) + builder.is_open
        inner = inner.removeprefix("env.").removeprefix("env:").removeprefix("ENV:")
        tokens = list(iter_tokens(inner if inner not in HOME_VARIABLES else f'"{inner}"'))[:20]
        for index, token in enumerate(tokens):
            if token.kind == "string":
                self._read_text(token, builder, value)
            elif token.kind == "name":
                if find_families(token.text) & {Family.HOME} and token.text not in self.names:
                    if not self._ignores_home:
                        builder.begin("~")
                    continue
                self._read_name(tokens, index, builder, value)
        if len(builder.places) + builder.is_open == before and not builder.parts:
            builder.append(UNKNOWN_PART)

    def _append_parts(self, text: str, builder: PathBuilder) -> None:
        if text:
            builder.append(self._substitute(text))

    def _substitute(self, text: str) -> str:
        """Return a text with names that stand for one part replaced by it, and others by a part that is unknown."""
        if "$" not in text and "{" not in text and "(" not in text:
            return text

        def replace(match: re.Match[str]) -> str:
            bound = self.names.get(match[1] or match[2])
            return bound.parts[0] if bound is not None and len(bound.parts) == 1 else UNKNOWN_PART

        return re.sub(r"[$#\\%]?[{(]\s*[$@]?(\w+)[^{}()/]*[})]|\$(\w+)", replace, text)

    def _read_inner_names(self, text: str, value: Value) -> None:
        for match in _INNER_NAME.finditer(text[:400]) if "$" in text or "{" in text or "(" in text else ():
            if (bound := self.names.get(match[1] or match[2])) is not None:
                value.merge(Value(files=bound.files, hosts=bound.hosts, has_environment=bound.has_environment))


def add_host(value: Value, address: str) -> None:
    """Add the host of an address unless ordinary work talks to it."""
    name = host.parse_host(address).lower()
    if name and "." in name and not is_listed_host(name) and len(value.hosts) < MAX_VALUES:
        value.hosts.append(name)


def _is_member(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a name is a member of something else: `x.home`; the text's own fields are bound, too."""
    if index < 2 or tokens[index - 1].text not in (".", "::", "->"):
        return False
    return tokens[index - 2].text not in ("this", "self", "cls") and tokens[index - 2].kind in ("name", "string")


def _takes_field(tokens: Sequence[Token], index: int) -> bool:
    """Return whether only one field of a name's value is used: `env.API_KEY`, `env["KEY"]`, `env$KEY`."""
    following = [token.text for token in tokens[index + 1 : index + 4]]
    if not following:
        return False
    if following[0] == "[" or (following[0] == "$" and len(following) > 1):
        return True
    return following[0] in (".", "->", "?.") and len(following) > 1 and following[1].isupper()


def _is_whole_environment(tokens: Sequence[Token], index: int) -> bool:
    """Return whether all variables are meant: `os.environ`, `process.env`, `System.getenv()`, `ENV.to_h`."""
    name = tokens[index].text
    following = [token.text for token in tokens[index + 1 : index + 3]]
    owner = tokens[index - 2].text if index > 1 and tokens[index - 1].text in (".", "::", "/") else ""
    if name == "ENV":
        return following[:1] == ["."] and following[1:] in (["to_h"], ["to_a"], ["inspect"], ["map"], ["each"])
    if name in ("getenv", "get_env", "vars", "vars_os", "Environ"):
        return owner in ENVIRONMENT_OWNERS and (following == ["(", ")"] or following[:1] == [")"])
    if index > 4 and tokens[index - 3].text == tokens[index - 4].text == ".":
        return False  # `{...process.env, KEY: 1}` is the environment of something that is started
    is_one = following[:1] in (["["], ["="], ["."], ["?"], [":"])
    return not is_one and (name == "environ" or owner in ENVIRONMENT_OWNERS)


def _is_substituted(tokens: Sequence[Token], index: int) -> bool:
    return index > 0 and tokens[index - 1].text in ("$", "{", "(", "#", "%")


def _count_levels(tokens: Sequence[Token], index: int) -> int:
    """Return how many levels a name goes up: `parents[2]` three."""
    if tokens[index].text != "parents":
        return 1
    number = tokens[index + 2].text if index + 2 < len(tokens) and tokens[index + 1].text == "[" else "0"
    return min(int(number), 8) + 1 if number.isdigit() else 1


def iter_names(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Yield the names among tokens with their indexes."""
    for index, token in enumerate(tokens):
        if token.kind == "name":
            yield index, token.text
