"""Find the local files whose values a text uses: what it imports, includes, reads, or shares a package with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from posixpath import basename, dirname, normpath
from typing import TYPE_CHECKING, NamedTuple

from verdikt.effects.any_language.masking import find_ending
from verdikt.effects.local_imports import list_local_imports
from verdikt.effects.local_values.settings_values import DATA_ENDINGS
from verdikt.effects.target import is_secret
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.session_state import value_key

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver
    from verdikt.model.facts import Facts

WRITTEN_KEY = value_key("trail", "written")
"""The newest files with values or code that the session wrote."""
MAX_WRITTEN = 24
MAX_FILES = 8
"""Number of files whose values one text is given."""
_MAX_NAMES = 24
_MAX_USERS = 8
_VALUE_NAME = compile_lazily(r"(?i)settings|config|const|path|dirs?\b|env|common|vars|names|defaults|options")
"""Names of modules in which programs keep what others use."""
_MAX_LENGTH = 40_000
_DATA = "toml|json5?|jsonc|ya?ml|ini|cfg|conf|properties|tfvars|hcl|env"
_NAMED_FILE = compile_lazily(
    rf"(?<![\w.~$@-])((?:\.{{0,2}}/)*(?:[\w@-][\w@.-]*/)*[\w@-][\w@.-]*\.(?:{_DATA}"
    r"|py|php|[cm]?[jt]sx?|rb|pl|pm|lua|[rR]|jl|bzl|mk|just|exs?|sh|cmake|gradle|kts|groovy|el))(?![\w/.(-])"
)
_LABEL = compile_lazily(r"[\"']//([\w./-]*):([\w.-]+\.bzl)[\"']")
"""A file as Bazel names it: `load("//tools:x.bzl", "X")`."""
_RUST_MODULE = compile_lazily(r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;")
_C_INCLUDE = compile_lazily(r"(?m)^\s*#\s*include\s+\"([^\"\n]+)\"")
_IMPLIED_FILES = {
    "build.gradle": ("gradle.properties",),
    "build.gradle.kts": ("gradle.properties",),
    "settings.gradle": ("gradle.properties",),
    "settings.gradle.kts": ("gradle.properties",),
    "main.tf": ("terraform.tfvars",),
}
"""Files of settings that a program reads beside its own, though nothing names them."""
_APPLICATION_SETTINGS = compile_lazily(r"\bApplication\.\w+_env")
_ELIXIR_SETTINGS = tuple(f"config/{name}.exs" for name in ("config", "dev", "test", "runtime", "prod"))
_PACKAGE_FAMILIES = {
    **dict.fromkeys("java kt kts scala sc sbt groovy gradle".split(), "jvm"),
    **{ending: ending for ending in "go swift cs tf hcl r".split()},
}
"""Ending → family of languages in which the files of one package see each other's names."""
_WORD = compile_lazily(r"\w{3,}")
_HARMFUL_USE = compile_lazily(
    r"(?i)delet|remov|\brm|unlink|rimraf|erase|wipe|purge|shred|trunc|clean|clobber|empty|prune|drop|destroy|rmtree"
    r"|post\b|\bput\b|upload|send|fetch|request|urlopen|curl|http|system|popen|spawn|exec|subprocess|shell|command|\brun|write"
)
"""Words of a text that may delete, send, write or run something."""
_TAKES = compile_lazily(
    rf"\b(?:import|require\w*|include\w*|from|mod|load|source|dofile|eval_gemfile|use)\b|Application\.|\benv|ENV"
    rf"|[gG]et_?[eE]nv|\.(?:{_DATA})\b"
)
"""Words by which a text takes values from another file, or from its environment."""
_PLACE = compile_lazily(
    r"(?i)home|~|\.\.|parent|dirname|__dir|\broot\b|://|manifest_dir|[\"'`=:\s](?:\.{0,2}/)?[\w-]+/[\w./-]+|=\s*[\"'][\w./-]+[\"']"
)
"""A place or an address in a file of values."""
_ENTRY_NAMES = """
conftest.py tests/conftest.py setup.py noxfile.py tasks.py fabfile.py dodo.py build.gradle build.gradle.kts build.rs
Rakefile Gemfile Fastfile gulpfile.js Gruntfile.js webpack.config.js vite.config.js vite.config.ts jest.config.js
vitest.config.ts eslint.config.js build.xml build.sbt Snakefile docs/conf.py main.tf mix.exs
""".split()
"""Files of a project that programs load unnamed, and that may take values from files that a session writes."""


class ValueFile(NamedTuple):
    """A local file with values for another one."""

    path: str
    text: str
    is_named: bool
    """Whether the other text names it by its path, rather than as a module or by its package."""


def find_value_files(path: str, text: str, language: str, facts: Facts, written: Iterable[str]) -> list[ValueFile]:
    """Return the files whose values a text uses; `written` are files that the session wrote."""
    files: dict[str, ValueFile] = {}
    for candidates, is_named in _list_candidates(path, text, language, facts.project_root, written):
        for candidate in candidates:
            if candidate == path or candidate in files or is_secret(candidate):
                continue
            content = facts.text(candidate)
            if content is not None:
                files[candidate] = ValueFile(candidate, content[:_MAX_LENGTH], is_named)
                break
        if len(files) >= MAX_FILES:
            break
    return list(files.values())


def _list_candidates(
    path: str, text: str, language: str, root: str, written: Iterable[str]
) -> Iterator[tuple[Sequence[str], bool]]:
    """Yield the paths at which each file may lie, the likeliest first, and whether the text names it."""
    directory, name = dirname(path), basename(path)
    for places in list_local_imports(language, path, text, root):
        yield places, False
    for implied in _IMPLIED_FILES.get(name, ()):
        yield (f"{directory}/{implied}", f"{root}/{implied}"), False
    for match in islice(_LABEL.finditer(text), _MAX_NAMES):
        yield (normpath(f"{root}/{match[1]}/{match[2]}"),), False
    for named in dict.fromkeys(islice((m[1] for m in _NAMED_FILE.finditer(text)), _MAX_NAMES)):
        yield (normpath(f"{directory}/{named}"), normpath(f"{root}/{named.lstrip('/')}")), True
    if language == "rust":
        for module in _RUST_MODULE.findall(text)[:_MAX_NAMES]:
            yield (f"{directory}/{module}.rs", f"{directory}/{module}/mod.rs"), False
    elif language == "c":
        yield from (((normpath(f"{directory}/{header}"),), False) for header in _C_INCLUDE.findall(text)[:_MAX_NAMES])
    elif language == "elixir" and _APPLICATION_SETTINGS.search(text):
        yield from (((f"{root}/{settings}",), False) for settings in _ELIXIR_SETTINGS)
    yield from (((other,), False) for other in _list_package_files(path, text, written))


def _list_package_files(path: str, text: str, written: Iterable[str]) -> Iterator[str]:
    """Yield files of the session in the same package, or whose own name is a word of the text: `Paths.stage`."""
    directory, family = dirname(path), _PACKAGE_FAMILIES.get(find_ending(path))
    words: set[str] = set()
    for other in written if family else ():
        if _PACKAGE_FAMILIES.get(find_ending(other)) != family:
            continue
        words = words or set(_WORD.findall(text))
        if dirname(other) == directory or basename(other).partition(".")[0] in words:
            yield other


def may_take_values(path: str, text: str) -> bool:
    """Return whether a text may do harm with values that it takes from other files or from its environment."""
    head = text[:_MAX_LENGTH]
    if _HARMFUL_USE.search(head) is None:
        return False
    name = basename(path)
    if name in _IMPLIED_FILES or find_ending(path) in _PACKAGE_FAMILIES:
        return True
    return _TAKES.search(head) is not None


def may_hold_values(path: str, text: str) -> bool:
    """Return whether a file may hold a place or an address that another file uses."""
    return _PLACE.search(text[:_MAX_LENGTH]) is not None and not is_secret(path)


def find_value_users(path: str, written: Iterable[str], facts: Facts) -> list[str]:
    """Return the files that may take values from a file which is written, so that they are judged once more."""
    name = basename(path)
    stem = name.partition(".")[0]
    family = _PACKAGE_FAMILIES.get(find_ending(path), "")
    users = []
    is_likely = find_ending(path) in DATA_ENDINGS or _VALUE_NAME.search(name) is not None
    entries = [f"{facts.project_root}/{entry}" for entry in _ENTRY_NAMES] if is_likely else []
    # Reading a file costs more than all else here.
    for user in dict.fromkeys((*list(written)[-_MAX_USERS:], *entries)):
        text = facts.text(user) if user != path else None
        if not text:
            continue
        is_implied = name in _IMPLIED_FILES.get(basename(user), ())
        is_package = dirname(user) == dirname(path) and family == _PACKAGE_FAMILIES.get(find_ending(user))
        # Most texts do not name the file.
        if (is_implied or is_package or (stem and stem in text)) and may_take_values(user, text):
            users.append(user)
    return users


def fill_session_values(text: str, path: str, resolver: TargetResolver) -> str:
    """Return the text of a program that a command runs with the values of files that the session wrote."""
    written = resolver.facts.recall(WRITTEN_KEY) if path else None
    names = [basename(other).partition(".")[0] for other in written or () if other != path]
    if not any(name and name in text for name in names) or not may_take_values(path, text):
        return text
    return fill_from_files(text, path, resolver)


def fill_from_files(text: str, path: str, resolver: TargetResolver) -> str:
    """Return a text with the values of other files in it."""
    # Few texts take values from elsewhere, and the readers of all languages are needed to find them.
    from verdikt.effects.local_values.value_filling import fill_local_values

    return fill_local_values(path, text, resolver, resolver.facts.recall(WRITTEN_KEY) or ())
