"""One text as units with their values: the names that it binds, the secrets and hosts that they carry."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from posixpath import basename, dirname
from typing import TYPE_CHECKING, NamedTuple

from verdikt.effects.any_language.bindings import find_bindings
from verdikt.effects.any_language.functions import find_deleting_functions
from verdikt.effects.any_language.masking import find_ending
from verdikt.effects.any_language.removal_lines import MAY_REMOVE, expand_removals
from verdikt.effects.any_language.units import MAX_UNIT_TOKENS, Token, Unit, UnitReader
from verdikt.effects.any_language.values import UNKNOWN_PART, Evaluator, Value
from verdikt.effects.any_language.word_families import (
    CONFIGURATION_LOADERS,
    CONNECTING,
    DEFINING,
    DESCRIPTIONS,
    POSTING,
    SAVING,
    WALKING,
    Family,
    find_families,
    split_words,
)
from verdikt.effects.zone_tables import SECRET_GLOBS, SECRET_NAME_GLOBS
from verdikt.model.effect import Zone
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver

MAX_DISTANCE = 80
"""Number of tokens between a word and what it is applied to."""
_SECRET_WORDS = (
    r"\.env|\.ssh|id_[rde]|\.aws|\.gnupg|\.kube|\.npmrc|\.pypirc|netrc|credential|secret|token|pgpass|shadow"
    r"|\.pem|\.key|\.p12|keychain|keyring|wallet|history|cookies|logins|environ|getenv|get_env|env::vars|\.docker|\.config|\.azure|\.git-|(?-i:\bENV\b)"
)


def may_name_secret(text: str) -> bool:
    """Return whether a text holds a part of a name in the tables of secret files; without one it names no secret."""
    return _compile_secret_words().search(text) is not None


@cache
def _compile_secret_words() -> re.Pattern[str]:
    common = re.compile(f"(?i){_SECRET_WORDS}")
    parts = {
        max(re.split(r"[/*?~]", glob), key=len)
        for glob in (*SECRET_GLOBS.split(), *SECRET_NAME_GLOBS.split())
        if not common.search(glob)
    }
    return re.compile(f"(?i){_SECRET_WORDS}|{'|'.join(sorted(map(re.escape, parts)))}")


# A test that gives its program another home; the names are bound like others where they are no variables.
_SETS_HOME = compile_lazily(
    r"(?:\b(?i:\w*setenv|putenv|set_var|\w*patch\w*|stub\w*|mock\w*|with_?env\w*)\b[^\n]{0,40}\bHOME\b"
    r"|\bHOME[\"'\]]*\s*(?:=(?![=~])|:\s|=>|,))[^\n]{0,80}?(?i:te?mp|fake|sandbox|isolated|fixture|dir\b|path\b)"
)
_SCRIPT_DIRECTORIES = frozenset(
    "scripts script tools tool test tests spec specs build bin ci cmake dev deps hack hooks tasks .config config ext "
    "src lib support Tests buildSrc gradle .mvn rakelib".split()
)
"""Directories of a package from which nothing is started: paths in their files begin at the directory above."""
_MAY_HOST = compile_lazily(r"[\"'][\w-]+(?:\.[\w-]+)+(?::\d+)?[\"']|[$#{]")
_XML_ENDINGS = frozenset("xml csproj fsproj vbproj targets props proj".split())
_XML_DELETE = compile_lazily(r"(?is)<(\w*(?:delete|remove|clean|purge|wipe)\w*)\b(?:[^<>/]|/(?!>))*>.{0,2000}?</\1>")
_XML_VALUE = compile_lazily(r"<([A-Za-z][\w.-]*)(?:\s[^<>]*)?>([^<>]+)</\1>")


class Meeting(NamedTuple):
    """What meets in a text: the line, the effect, and the place or host."""

    line: int
    what: str
    target: str


class TextReader:
    """Reads one file, whose comments are blanked."""

    def __init__(self, path: str, text: str, resolver: TargetResolver) -> None:
        self.text = text
        self.resolver = resolver
        self._may_remove = MAY_REMOVE.search(text) is not None
        is_xml = find_ending(path) in _XML_ENDINGS
        readable = _separate_elements(text) if is_xml else text
        self.units = sorted(UnitReader().read(readable), key=lambda unit: unit.tokens[0].position)
        self._records: dict[int, list[Unit]] = {}
        self._gathered: dict[int, list[Token]] = {}
        for unit in self.units:
            if unit.is_record and unit.opener is not None:
                self._records.setdefault(id(unit.opener), []).append(unit)
        directory = dirname(path)
        base = dirname(directory) if basename(directory) in _SCRIPT_DIRECTORIES else directory
        root = resolver.project_root
        self._is_command_list = find_ending(path) == "cmake" or basename(path) == "CMakeLists.txt"
        self.evaluator = Evaluator(
            path,
            root,
            resolver.facts.home.rstrip("/"),
            base=base if base.startswith(root) else root,
            ignores_home=bool(_SETS_HOME.search(self.text)),
        )
        self.fetched_files: dict[str, str] = {}
        """Names of files that the text downloads, and the hosts that they come from."""
        if is_xml:
            self._bind_elements()
        self._keep_constants()
        self.deleting_names = find_deleting_functions(self.units)
        """Functions of the text that delete what they are given."""

    def gather(self, unit: Unit) -> list[Token]:
        """Return the tokens of a unit with those of the records that it is given."""
        if (gathered := self._gathered.get(id(unit))) is not None:
            return gathered
        records = self._records.get(id(unit))
        tokens = unit.tokens
        if records and not unit.is_record:
            inner = (token for record in records for token in record.tokens)
            tokens = sorted([*tokens, *inner], key=lambda token: token.position)[:MAX_UNIT_TOKENS]
        self._gathered[id(unit)] = tokens = _drop_descriptions(tokens)
        return tokens

    def _bind_elements(self) -> None:
        for match in _XML_VALUE.finditer(self.text):
            token = Token("string", f'"{match[2].strip()}"', match.start())
            self.evaluator.names[match[1]] = self.complete(self.evaluator.evaluate([token]), [token])

    def _keep_constants(self) -> None:
        """Bind the names that are bound once, so that they are known above, too; others as the text comes to them."""
        numbers: dict[str, int] = {}
        for unit in self.units:
            for name in self.bind(unit, self.gather(unit)):
                numbers[name] = numbers.get(name, 0) + 1
        for name, number in numbers.items():
            if number > 1:
                self.evaluator.names.pop(name, None)

    def bind(self, unit: Unit, tokens: list[Token]) -> list[str]:
        """Bind the names of a unit, and return those that it gives another value."""
        if any(token.text in DEFINING for token in tokens[:4]):
            # What a parameter stands for is not known, whatever had its name before.
            names = [token.text for token in tokens if token.kind == "name" and token.depth == 1]
            self.evaluator.names.update((name, Value()) for name in names)
        bound_names = []
        for name, value_tokens, is_added in find_bindings(tokens, is_command_list=self._is_command_list):
            removal = expand_removals(value_tokens) if self._may_remove else []
            value = self.complete(self.evaluator.evaluate(removal or value_tokens), value_tokens)
            value.removes = bool(removal)
            if value.places and any(not WALKING.isdisjoint(split_words(t.text)) for t in value_tokens):
                value.places = [f"{place}/*" for place in value.places]
            if value.has_environment and (value.hosts or starts_program(tokens)):
                value.has_environment = False  # the environment of a program, with a setting that is an address
            if is_added and value.is_empty and unit.opener is not None:
                opener = self.gather(unit.opener)
                value = self.complete(self.evaluator.evaluate(opener), opener)
            known = self.evaluator.names.get(name)
            if is_added and known is not None:
                known.merge(value)
            else:
                self.evaluator.names[name] = value
                bound_names.append(name)
        self._bind_parts(unit, tokens)
        self._note_fetched_files(tokens)
        return bound_names

    def _bind_parts(self, unit: Unit, tokens: Sequence[Token]) -> None:
        """Bind names that stand in a record before the sign: `const { data } = …`, `{:ok, body} = …`."""
        sign = next((index for index, token in enumerate(tokens) if token.text == "=" and token.depth == 0), None)
        records = self._records.get(id(unit), []) if sign is not None else []
        if sign is None or not records or records[0].tokens[0].position > tokens[sign].position:
            return
        value = self.complete(self.evaluator.evaluate(tokens[sign + 1 :]), tokens[sign + 1 :])
        parts = [*records, *(inner for record in records for inner in self._records.get(id(record), ()))]
        for token in (token for part in parts for token in part.tokens if token.kind == "name"):
            if token.position < tokens[sign].position:
                self.evaluator.names[token.text] = value

    def complete(self, value: Value, tokens: Sequence[Token]) -> Value:
        """Add to a value what the words around it say: secrets, hosts that something connects to, what was fetched."""
        for name in value.host_names:
            if name not in value.hosts and _connects(tokens, name):
                value.hosts.append(name)
        secrets = [written for written in (*value.places, *value.parts) if self._is_secret(written)]
        if secrets:
            names = [token.text for token in tokens if token.kind == "name"]
            # `.env` is there to be loaded.
            is_loaded = any(not CONFIGURATION_LOADERS.isdisjoint(split_words(name)) for name in names)
            value.files += [file for file in secrets if not (is_loaded and basename(file).startswith(".env"))]
        if value.hosts or value.files:
            families = {family for t in tokens if t.kind == "name" for family in find_families(t.text)}
            value.sends |= Family.SEND in families or any("POST" in t.text for t in tokens if t.kind == "string")
            value.is_fetched |= bool(value.hosts) and Family.FETCH in families
        return value

    def _is_secret(self, written: str) -> bool:
        if not may_name_secret(written) or UNKNOWN_PART in written or " " in written:
            return False
        root = self.resolver.project_root
        place = self.resolver.to_absolute(written) if written[:1] in "~/" else f"{root}/{written}"
        return self.resolver.find_zone(place) is Zone.SECRET

    def _note_fetched_files(self, tokens: Sequence[Token]) -> None:
        """Remember the names of files into which a unit downloads from a foreign host."""
        value = self.evaluator.evaluate(tokens) if self.may_reach_host(tokens) else Value()
        names = [token.text for token in tokens if token.kind == "name"] if value.hosts else []
        is_saved = value.is_fetched and any(not SAVING.isdisjoint(split_words(name)) for name in names)
        if not is_saved and not any(Family.FETCH in find_families(name) for name in names):
            return
        for written in (*value.places, *value.parts):
            name = basename(written)
            if len(name) > 2 and UNKNOWN_PART not in name and not name.isupper():
                self.fetched_files[name] = value.hosts[0]

    def may_reach_host(self, tokens: Sequence[Token]) -> bool:
        """Return whether tokens may stand for a host; most units have none, and need not be evaluated."""
        names = self.evaluator.names
        for token in tokens:
            if token.kind == "name":
                if (bound := names.get(token.text)) is not None and bound.hosts:
                    return True
            elif token.kind == "string":
                if "." in token.text and ("://" in token.text or _MAY_HOST.search(token.text)):
                    return True
            elif token.kind == "address" or (token.kind == "number" and token.text.count(".") > 1):
                return True
        return False

    def count_line(self, token: Token) -> int:
        """Return the number of the line at which a token stands."""
        return self.text.count("\n", 0, token.position) + 1


def _separate_elements(text: str) -> str:
    """Return XML with a unit for each element, and one for all that stands in an element that deletes.

    The text keeps its length, so that positions stay.
    """
    joined = _XML_DELETE.sub(lambda match: match[0].replace("\n", " ").replace("<", " "), text)
    return joined.replace("<", ";")


def _drop_descriptions(tokens: list[Token]) -> list[Token]:
    """Return the tokens without what settings say to people: `description: never rm -rf ~`."""
    if not any(token.text in DESCRIPTIONS for token in tokens):
        return tokens
    kept: list[Token] = []
    is_dropped = False
    for index, token in enumerate(tokens):
        is_key = token.kind == "name" and index + 1 < len(tokens) and tokens[index + 1].text == ":"
        if is_key:
            is_dropped = token.text in DESCRIPTIONS
        if not is_dropped:
            kept.append(token)
    return kept or tokens[:1]


def starts_program(tokens: Sequence[Token]) -> bool:
    """Return whether a unit hands the environment to a program: `spawn("npm", {env: process.env})`."""
    for index, token in enumerate(tokens):
        is_start = token.kind == "name" and Family.START in find_families(token.text)
        if is_start and not {"process", "system"} & set(split_words(token.text)):
            return True
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        is_key = following == ":" or (following == "=" and token.depth > 0)
        if is_key and (token.text in ("env", "environment") or (token.text.isupper() and token.kind == "name")):
            # What is posted goes to a host, whatever its fields are called: `post(uri, dump(env: ENV.to_h))`.
            return not any(each.kind == "name" and not POSTING.isdisjoint(split_words(each.text)) for each in tokens)
    return False


def _connects(tokens: Sequence[Token], name: str) -> bool:
    """Return whether a text that looks like a host's name is given to what connects to one."""
    for index, token in enumerate(tokens):
        if token.kind == "string" and token.content == name:
            before = {word for each in tokens[max(0, index - 4) : index] for word in split_words(each.text)}
            return not CONNECTING.isdisjoint(before)
    return False
