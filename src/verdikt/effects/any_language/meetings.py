"""Find harm in text of any language by what meets in it: for files that no other reader understands.

Three meetings count: a word that deletes and a place outside the project; a secret file, a foreign host and a word that
sends; a foreign address and a word that runs what comes from there. What is found is possible rather than certain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile
from posixpath import basename, dirname
from typing import TYPE_CHECKING, NamedTuple

from verdikt.effects.any_language.bindings import find_bindings
from verdikt.effects.any_language.masking import find_ending, mask_comments, may_be_loaded
from verdikt.effects.any_language.units import MAX_UNIT_TOKENS, Token, Unit, UnitReader, iter_tokens
from verdikt.effects.any_language.values import UNKNOWN_PART, Evaluator, Value
from verdikt.effects.any_language.word_families import (
    CERTIFICATE_ENDINGS,
    COLLECTIONS,
    CONFIGURATION_LOADERS,
    CONNECTING,
    DATA_READERS,
    DEFINING,
    DESCRIPTIONS,
    GATHERING,
    IMPLICIT_NAMES,
    LOADING,
    SAVING,
    TREE_WORDS,
    TRUE_WORDS,
    Family,
    find_families,
    split_words,
)
from verdikt.effects.secret_issuers import ISSUER_DOMAINS
from verdikt.effects.target import is_build_output, is_cache
from verdikt.model.effect import Zone
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver

MAX_DISTANCE = 80
"""Number of tokens between a word and what it is applied to."""
MAX_DIRECT_DISTANCE = 4
"""The same where an address itself is run: `apply(from = "https://…")`."""
_MAY_DELETE = compile_lazily(
    r"(?i)delet|remov|\brm|unlink|rimraf|\bdel|erase|wipe|purge|shred|nuke|trunc|clean|clobber|empty|prune|sweep|scrub|clear"
)
_MAY_PLACE = compile_lazily(
    r"(?i)home|~|userprofile|\.\.|parent|dirname|directory|/(?:users|root|etc|usr|bin|lib|boot|system|library)/"
)
_MAY_ADDRESS = compile_lazily(r"(?i)://|(?:\d{1,3}\.){3}\d{1,3}|connect|socket|dial|\btcp")
_MAY_SECRET = compile_lazily(
    r"(?i)\.env|\.ssh|id_[rde]|\.aws|\.gnupg|\.kube|\.npmrc|\.pypirc|netrc|credential|secret|token|pgpass|shadow"
    r"|\.pem|\.key|\.p12|keychain|keyring|wallet|history|cookies|logins|environ|getenv|\.docker|\.config|\.azure|\.git-"
)
_MAY_EVALUATE = compile_lazily(
    r"(?i)eval|include|require|source|execfile|dofile|loadstring|loadfile|runin|exec|import|apply|agent|system|popen"
    r"|spawn|process|dlopen|cdll|loadlibrary|classloader|loadclass|chmod|\bload|launch|shell|command"
)
# A test that gives its program another home; the names are bound like others where they are no variables.
_DELETING_COMMAND = compile_lazily(r"(?:^|[\s;&|`(\"'])(?:rm|shred)\s+-|\brmdir\s|\s-delete\b")
_SETS_HOME = compile_lazily(
    r"(?:\b(?i:\w*setenv|putenv|set_var|\w*patch\w*|stub\w*|mock\w*|with_?env\w*)\b[^\n]{0,40}\bHOME\b"
    r"|\bHOME[\"'\]]*\s*(?:=(?![=~])|:\s|=>|,))[^\n]{0,80}?(?i:te?mp|fake|sandbox|isolated|fixture|dir\b|path\b)"
)
_SCRIPT_DIRECTORIES = frozenset(
    "scripts script tools tool test tests spec specs build bin ci cmake dev deps hack hooks tasks .config config ext "
    "src lib support Tests buildSrc gradle .mvn rakelib".split()
)
"""Directories of a package from which nothing is started: paths in their files begin at the directory above."""
_SYSTEM_DIRECTORIES = ("/etc/", "/usr/", "/lib/", "/boot/", "/System/", "/Library/")
_WHOLE_ADDRESS = compile_lazily(r"\w+://\S+")
_DATA_SUFFIXES = (".json", ".csv", ".txt", ".md", ".xml", ".yml", ".yaml", ".gz", ".zip", ".html", ".png", ".jpg", ".pdf")
_XML_ENDINGS = frozenset("xml csproj fsproj vbproj targets props proj".split())
_XML_DELETE = compile_lazily(r"(?is)<(\w*(?:delete|remove|clean|purge|wipe)\w*)\b(?:[^<>/]|/(?!>))*>.{0,2000}?</\1>")
_XML_VALUE = compile_lazily(r"<([A-Za-z][\w.-]*)(?:\s[^<>]*)?>([^<>]+)</\1>")
_IMPORTING = frozenset("import require require_relative from use using mod export".split())


class Meeting(NamedTuple):
    """What meets in a text: the line, the effect, and the place or host."""

    line: int
    what: str
    target: str


def find_meeting(
    path: str, text: str, resolver: TargetResolver, downloads: Collection[str] = ()
) -> Meeting | None:
    """Return the first harm that the words of a file show; `downloads` are files that the session did not read."""
    if not may_be_loaded(path):
        return None
    names = {name for name in map(basename, downloads) if name in text and not name.endswith(_DATA_SUFFIXES)}
    if not (_MAY_ADDRESS.search(text) or names or (_MAY_DELETE.search(text) and _MAY_PLACE.search(text))):
        return None
    text = mask_comments(path, text)
    names = {name for name in names if name in text}
    wants_delete = bool(_MAY_DELETE.search(text) and _MAY_PLACE.search(text))
    has_address = _MAY_ADDRESS.search(text) is not None
    wants_send = has_address and _MAY_SECRET.search(text) is not None
    wants_run = has_address and _MAY_EVALUATE.search(text) is not None
    if not (wants_delete or wants_send or wants_run or names):
        return None
    for name in sorted(names):
        # `-javaagent:lib/x.jar`, `plugins: [./x.js]`
        return Meeting(text.count("\n", 0, text.find(name)) + 1, "code.remote", name)
    return _TextReader(path, text, resolver).find(delete=wants_delete, send=wants_send, run=wants_run)


class _TextReader:
    """Reads one file, whose comments are blanked."""

    def __init__(self, path: str, text: str, resolver: TargetResolver) -> None:
        self._text = text
        self._resolver = resolver
        is_xml = find_ending(path) in _XML_ENDINGS
        # In XML what is deleted may stand inside the element; signs of the same length keep the positions.
        joined = _XML_DELETE.sub(lambda match: match[0].replace("\n", " "), text) if is_xml else text
        self._units = sorted(UnitReader().read(joined), key=lambda unit: unit.tokens[0].position)
        self._records: dict[int, list[Unit]] = {}
        for unit in self._units:
            if unit.is_record and unit.opener is not None:
                self._records.setdefault(id(unit.opener), []).append(unit)
        directory = dirname(path)
        base = dirname(directory) if basename(directory) in _SCRIPT_DIRECTORIES else directory
        root = resolver.project_root
        self._is_command_list = find_ending(path) == "cmake" or basename(path) == "CMakeLists.txt"
        self._evaluator = Evaluator(
            path, root, resolver.facts.home.rstrip("/"), base=base if base.startswith(root) else root, ignores_home=bool(_SETS_HOME.search(self._text))
        )
        self._fetched_files: dict[str, str] = {}
        if is_xml:
            self._bind_elements()
        self._keep_constants()

    def find(self, *, delete: bool, send: bool, run: bool) -> Meeting | None:
        """Return the first meeting in the order of the text."""
        for unit in self._units:
            tokens = self._gather(unit)
            self._bind(unit, tokens)
            if _imports(tokens):
                continue
            if delete and (meeting := self._find_delete(unit, tokens)):
                return meeting
            if (send or run) and (meeting := self._find_exchange(tokens, send=send, run=run)):
                return meeting
        return None

    # Names.

    def _gather(self, unit: Unit) -> list[Token]:
        """Return the tokens of a unit with those of the records that it is given."""
        records = self._records.get(id(unit))
        tokens = unit.tokens
        if records and not unit.is_record:
            inner = (token for record in records for token in record.tokens)
            tokens = sorted([*tokens, *inner], key=lambda token: token.position)[:MAX_UNIT_TOKENS]
        return _drop_descriptions(tokens)

    def _bind_elements(self) -> None:
        for match in _XML_VALUE.finditer(self._text):
            token = Token("string", f'"{match[2].strip()}"', match.start())
            self._evaluator.names[match[1]] = self._complete(self._evaluator.evaluate([token]), [token])

    def _keep_constants(self) -> None:
        """Bind the names that are bound once, so that they are known above, too; others as the text comes to them."""
        numbers: dict[str, int] = {}
        for unit in self._units:
            for name in self._bind(unit, self._gather(unit)):
                numbers[name] = numbers.get(name, 0) + 1
        for name, number in numbers.items():
            if number > 1:
                self._evaluator.names.pop(name, None)

    def _bind(self, unit: Unit, tokens: list[Token]) -> list[str]:
        """Bind the names of a unit, and return those that it gives another value."""
        if any(token.text in DEFINING for token in tokens[:4]):
            # What a parameter stands for is not known, whatever had its name before.
            names = [token.text for token in tokens if token.kind == "name" and token.depth == 1]
            self._evaluator.names.update((name, Value()) for name in names)
        bound_names = []
        for name, value_tokens, is_added in find_bindings(tokens, is_command_list=self._is_command_list):
            value = self._complete(self._evaluator.evaluate(value_tokens), value_tokens)
            if value.has_environment and (value.hosts or _starts_program(tokens)):
                value.has_environment = False  # the environment of a program, with a setting that is an address
            if is_added and value.is_empty and unit.opener is not None:
                opener = self._gather(unit.opener)
                value = self._complete(self._evaluator.evaluate(opener), opener)
            known = self._evaluator.names.get(name)
            if is_added and known is not None:
                known.merge(value)
            else:
                self._evaluator.names[name] = value
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
        value = self._complete(self._evaluator.evaluate(tokens[sign + 1 :]), tokens[sign + 1 :])
        parts = [*records, *(inner for record in records for inner in self._records.get(id(record), ()))]
        for token in (token for part in parts for token in part.tokens if token.kind == "name"):
            if token.position < tokens[sign].position:
                self._evaluator.names[token.text] = value

    def _complete(self, value: Value, tokens: Sequence[Token]) -> Value:
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
        if not _MAY_SECRET.search(written) or UNKNOWN_PART in written or " " in written:
            return False
        root = self._resolver.project_root
        place = self._resolver.to_absolute(written) if written[:1] in "~/" else f"{root}/{written}"
        return self._resolver.find_zone(place) is Zone.SECRET

    def _note_fetched_files(self, tokens: Sequence[Token]) -> None:
        """Remember the names of files into which a unit downloads from a foreign host."""
        value = self._evaluator.evaluate(tokens)
        names = [token.text for token in tokens if token.kind == "name"] if value.hosts else []
        is_saved = value.is_fetched and any(not SAVING.isdisjoint(split_words(name)) for name in names)
        if not is_saved and not any(Family.FETCH in find_families(name) for name in names):
            return
        for written in (*value.places, *value.parts):
            name = basename(written)
            if len(name) > 2 and UNKNOWN_PART not in name and not name.isupper():
                self._fetched_files[name] = value.hosts[0]

    # Deleting.

    def _find_delete(self, unit: Unit, tokens: list[Token]) -> Meeting | None:
        tokens = _expand_commands(tokens)
        words = [
            (index, token)
            for index, token in enumerate(tokens)
            if token.kind == "name" and find_families(token.text) & {Family.DELETE, Family.CLEAR}
        ]
        for index, token in words:
            near = tokens[max(0, index - MAX_DISTANCE) : index + MAX_DISTANCE]
            if self._is_flag(tokens, index):
                place = self._find_lost_place(near) if unit.is_record else self._find_sibling_place(unit)
                place = place or self._find_named_place(token.text)
            elif self._is_deleting(tokens, index):
                place = self._find_lost_place(near) or self._find_opener_place(unit, near)
            else:
                continue
            if place:
                return Meeting(self._count_line(token), "fs.delete.tree", place)
        return None if words else self._find_deleting_opener(unit, tokens)

    def _is_deleting(self, tokens: Sequence[Token], index: int) -> bool:
        """Return whether a word deletes what it is used with: a call, a command, or a list that is cleared later."""
        token = tokens[index]
        families = find_families(token.text)
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        owner = tokens[index - 2].text if index > 1 and tokens[index - 1].text in (".", "->", "::") else ""
        if Family.DELETE in families:
            is_definition = index > 0 and tokens[index - 1].text in DEFINING
            return not is_definition and not COLLECTIONS.intersection(split_words(owner)[-1:])
        words = split_words(token.text)
        names_place = any(Family.PLACE in find_families(word) for word in words)
        if following in ("=", "+=", ":=", "?=", "<<", ":"):
            # A setting: `CLEAN_DIRS += …`, `clean: [../x]`, and not `clean = true`, which is a flag.
            return names_place or token.text.isupper() or following != "="
        if following == "." and index + 2 < len(tokens) and token.text.isupper():
            return tokens[index + 2].text in GATHERING
        return following == "(" and names_place

    @staticmethod
    def _is_flag(tokens: Sequence[Token], index: int) -> bool:
        """Return whether a word is a setting that is switched on: `emptyOutDir: true`."""
        following = [token.text.strip("\"'") for token in tokens[index + 1 : index + 3]]
        return len(following) == 2 and following[0] in (":", "=", "=>") and following[1] in TRUE_WORDS

    def _find_sibling_place(self, unit: Unit) -> str:
        """Return a place outside the project that a setting beside this one holds."""
        position = self._units.index(unit)
        for step in (-1, 1):
            for other in self._units[position + step :: step][:12] if position + step >= 0 else ():
                if other.opener is not unit.opener or other.indent < unit.indent or other.tokens[0].text == "[":
                    break  # another block, or another section
                if other.indent == unit.indent and other.tokens[0].kind in ("name", "string"):
                    key = other.tokens[0].content
                    if Family.PLACE in find_families(key) and (place := self._find_lost_place(other.tokens)):
                        return place
        return ""

    def _find_named_place(self, flag: str) -> str:
        """Return the place of the setting that a flag is about: `outDir` for `emptyOutDir`, wherever it stands."""
        words = [word for word in split_words(flag) if not find_families(word) & {Family.DELETE, Family.CLEAR}]
        for unit in self._units if words else ():
            for index, token in enumerate(unit.tokens):
                if token.kind == "name" and list(split_words(token.text)) == words:
                    if place := self._find_lost_place(unit.tokens[index : index + 24]):
                        return place
        return ""

    def _find_opener_place(self, unit: Unit, near: Sequence[Token]) -> str:
        """Return the place that the files of a block come from: `home.walk().forEach { it.delete() }`."""
        if unit.opener is None or not any(token.text in IMPLICIT_NAMES for token in near):
            return ""
        return self._find_lost_place(self._gather(unit.opener))

    def _find_deleting_opener(self, unit: Unit, tokens: Sequence[Token]) -> Meeting | None:
        """Return what a block deletes that is given to a word for it: `delete { fileset(dir: …) }`."""
        opener = unit.opener
        if opener is None or any(token.text in DEFINING or token.text == "=>" for token in opener.tokens):
            return None
        for index, token in enumerate(opener.tokens):
            if token.kind != "name" or Family.DELETE not in find_families(token.text):
                continue
            if self._is_deleting(opener.tokens, index) and (place := self._find_lost_place(tokens)):
                return Meeting(self._count_line(tokens[0]), "fs.delete.tree", place)
        return None

    def _find_lost_place(self, tokens: Sequence[Token]) -> str:
        """Return the first place among tokens that is outside the project and not made by a program for itself."""
        value = self._evaluator.evaluate(tokens)
        names = {word for token in tokens if token.kind == "name" for word in split_words(token.text)}
        return next((place for place in value.places if self._is_precious(place, names)), "")

    def _is_precious(self, place: str, names: Collection[str]) -> bool:
        """Return whether losing a place is a loss: of the person's home or of the machine, not of a cache or a build."""
        if UNKNOWN_PART in place:
            return False
        parts = place.split("/")
        while len(parts) > 1 and "*" in parts[-1]:
            parts.pop()
        has_pattern = len(parts) < place.count("/") + 1
        path = self._resolver.to_absolute("/".join(parts) or "/")
        root, home = self._resolver.project_root, self._resolver.facts.home.rstrip("/")
        if path.startswith((root + "/", "/tmp/", "/var/")) or path in (root, "/tmp", "/", ""):
            return False
        if path == home or root.startswith(path + "/"):
            # A whole home: only where the words say that all in it goes, for a part of it may be unknown.
            return has_pattern or not TREE_WORDS.isdisjoint(names)
        zone = self._resolver.find_zone(path)
        if zone is Zone.TEMP or is_cache(path) or path.startswith(tuple(self._resolver.facts.temp)):
            return False
        if path.startswith(home + "/"):
            return not _is_own_state(path[len(home) + 1 :], zone)
        if path.startswith(_SYSTEM_DIRECTORIES):
            return "bin" not in parts and "sbin" not in parts  # a program by its path: `/usr/bin/rm`
        # Beside or above the project, where a climb leads to.
        above = next((place for place in _iter_above(root) if path.startswith(place + "/")), "")
        return bool(above) and not is_build_output(path[len(above) + 1 :])

    # Sending and running.

    def _find_exchange(self, tokens: list[Token], *, send: bool, run: bool) -> Meeting | None:
        if not any(token.kind in ("name", "string", "address", "path") for token in tokens):
            return None
        value = self._complete(self._evaluator.evaluate(tokens), tokens)
        if value.has_environment and _starts_program(tokens):
            value.has_environment = False
        if send and value.hosts and value.sends and (value.files or value.has_environment):
            host = self._find_receiver(value, tokens)
            if host:
                return Meeting(self._count_line(_find_address(tokens)), "cred.send", host)
        if run and (meeting := self._find_run(tokens)):
            return meeting
        return None

    def _find_receiver(self, value: Value, tokens: Sequence[Token]) -> str:
        """Return the host that a secret goes to; empty where the secret is used for what it is made for."""
        uses = any(token.kind == "name" and Family.KEY_USE in find_families(token.text) for token in tokens)
        files = [
            file
            for file in value.files
            if not (uses and (".ssh/" in file or ".kube/" in file or file.endswith(CERTIFICATE_ENDINGS)))
        ]
        if not files and not value.has_environment:
            return ""
        issuers = [domain for name, domains in ISSUER_DOMAINS.items() for domain in domains if any(name in f for f in files)]
        return next((name for name in value.hosts if not name.endswith(tuple(issuers) or "\0")), "")

    def _find_run(self, tokens: Sequence[Token]) -> Meeting | None:
        for index, token in enumerate(tokens):
            if token.kind != "name":
                continue
            families = find_families(token.text) & {Family.EVALUATE, Family.START}
            is_load = token.text in LOADING and (index == 0 or tokens[index - 1].text == "(")
            if not (families or is_load) or _reads_data(tokens, index) or tokens[0].text in DEFINING:
                continue
            if token.text == "System" and index + 1 < len(tokens) and tokens[index + 1].text == ".":
                continue  # the name of a library
            is_start = Family.EVALUATE not in families and not is_load
            if host := self._find_fetched(_list_arguments(tokens, index), is_start=is_start):
                return Meeting(self._count_line(token), "code.remote", host)
        return None

    def _find_fetched(self, tokens: Sequence[Token], *, is_start: bool) -> str:
        """Return the host from which comes what the tokens of a call stand for."""
        value = self._evaluator.evaluate(tokens)
        written = [token.content for token in tokens if token.kind in ("string", "path")]
        for name in map(basename, (*written, *value.places, *value.parts)):
            if name in self._fetched_files:
                return self._fetched_files[name]
        if not value.hosts or is_start:
            return ""  # a program that is given an address, or data from there, does not run it
        addresses = [index for index, token in enumerate(tokens) if "://" in token.text]
        if not addresses:
            return value.hosts[0] if value.is_fetched else ""
        names = [token.text for token in tokens[: addresses[0]] if token.kind == "name"]
        is_fetched = any(Family.FETCH in find_families(name) for name in names)
        is_direct = addresses[0] <= MAX_DIRECT_DISTANCE and _WHOLE_ADDRESS.fullmatch(tokens[addresses[0]].content)
        return value.hosts[0] if is_fetched or is_direct else ""

    def _count_line(self, token: Token) -> int:
        return self._text.count("\n", 0, token.position) + 1


def _expand_commands(tokens: list[Token]) -> list[Token]:
    """Return the tokens with command lines that delete taken apart: `"rm -rf " .. home .. "/x"`."""
    if not any(token.kind == "string" and _DELETING_COMMAND.search(token.text) for token in tokens):
        return tokens
    expanded = []
    for token in tokens:
        if token.kind == "string" and _DELETING_COMMAND.search(token.text):
            expanded += [inner._replace(position=token.position) for inner in iter_tokens(token.content)][:40]
        else:
            expanded.append(token)
    return expanded


def _drop_descriptions(tokens: list[Token]) -> list[Token]:
    """Return the tokens without what settings say to people: `description: never rm -rf ~`."""
    kept: list[Token] = []
    is_dropped = False
    for index, token in enumerate(tokens):
        is_key = token.kind == "name" and index + 1 < len(tokens) and tokens[index + 1].text == ":"
        if is_key:
            is_dropped = token.text.lower() in DESCRIPTIONS
        if not is_dropped:
            kept.append(token)
    return kept or tokens[:1]


def _starts_program(tokens: Sequence[Token]) -> bool:
    """Return whether a unit hands the environment to a program: `spawn("npm", {env: process.env})`."""
    for index, token in enumerate(tokens):
        is_start = token.kind == "name" and Family.START in find_families(token.text)
        if is_start and not {"process", "system"} & set(split_words(token.text)):
            return True
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if (following == ":" or (following == "=" and token.depth)) and token.text in ("env", "environment"):
            return True
    return False


def _reads_data(tokens: Sequence[Token], index: int) -> bool:
    return any(not DATA_READERS.isdisjoint(split_words(token.text)) for token in tokens[max(0, index - 2) : index + 1])


def _list_arguments(tokens: Sequence[Token], index: int) -> Sequence[Token]:
    """Return what a word is applied to: the brackets that follow it, or else the rest of its unit or form."""
    after = tokens[index + 1 : index + MAX_DISTANCE]
    depth = tokens[index].depth
    if after and after[0].text == "(":
        end = next((i for i, token in enumerate(after) if token.text == ")" and token.depth == depth), len(after))
        return after[:end]
    return list(takewhile(lambda token: token.depth >= depth, after))


def _imports(tokens: Sequence[Token]) -> bool:
    """Return whether a unit only names what the file needs: `import { rm } from "../fs"`."""
    return tokens[0].text in _IMPORTING and not (len(tokens) > 1 and tokens[1].text == "(")


def _connects(tokens: Sequence[Token], name: str) -> bool:
    """Return whether a text that looks like a host's name is given to what connects to one."""
    for index, token in enumerate(tokens):
        if token.kind == "string" and token.content == name:
            before = {word for each in tokens[max(0, index - 4) : index] for word in split_words(each.text)}
            return not CONNECTING.isdisjoint(before)
    return False


def _find_address(tokens: Sequence[Token]) -> Token:
    return next((token for token in tokens if "://" in token.text), tokens[0])


def _iter_above(path: str) -> Iterator[str]:
    """Yield the directories above a path, without that of the machine."""
    while (path := dirname(path)) not in ("/", ""):
        yield path


def _is_own_state(path: str, zone: Zone) -> bool:
    """Return whether a path below the home is what a program keeps for itself: `.app/x`, `.config/app`, `x/build`."""
    if zone in (Zone.SECRET, Zone.PERSIST, Zone.GUARD):
        return False
    parts = path.split("/")
    if parts[0] in (".config", ".local", "Library", "AppData"):
        return len(parts) > 2 or (parts[0] == ".config" and len(parts) > 1)
    return parts[0].startswith(".") or is_build_output(path)

