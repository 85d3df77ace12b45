"""The armed files that a session and its project remember, and which of them the commands of an action may load."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from posixpath import basename
from typing import TYPE_CHECKING, Any, NamedTuple

from verdikt.effects.any_language.masking import may_name_code
from verdikt.effects.armed_text import ArmedText, judge_text
from verdikt.effects.code_sections import detect_file_language, is_composition
from verdikt.effects.downloaded_files import DOWNLOADS_KEY
from verdikt.effects.given_variables import SUBSTITUTED_FILE, fill_lookups, looks_up_variables
from verdikt.effects.local_values.value_files import fill_from_files, may_take_values
from verdikt.effects.script_classifier import ScriptClassifier
from verdikt.effects.target import TargetResolver
from verdikt.effects.template_fields import fill_variables
from verdikt.effects.workflow_sections import WORKFLOW
from verdikt.knowledge import join_role
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.session_state import mark_key, to_shared_key, value_key

if TYPE_CHECKING:
    from verdikt.effects.code_loaders import Loader
    from verdikt.model.effect import Effect
    from verdikt.model.facts import Facts
    from verdikt.shell.command import Command

ARMED_KEY = value_key("trail", "armed")
"""Armed files: path → digest, line, effect, target, tool, seq, and whether it is certain."""
UNJUDGED_KEY = value_key("trail", "unjudged")
"""Files that commands wrote and nothing has loaded since: path → tool, seq."""
PROJECT_ARMED_KEY = to_shared_key("project", ARMED_KEY)
OLDER_ARMED_KEY = value_key("trail", "older")
"""Whether armed files are kept by digest only."""
UNSEEN = "unseen"
"""In place of the digest of a file that only its host sees: what is known of it is the text that an edit put in."""
_ON_HOST = compile_lazily(
    r"\s(?:--bind|-[a-zA-Z]*b)\b|-self-hosted\b|\s(?:exec\s+)?shell\b|\s--(?:force-)?local\b"
    rf"|\s--shell-\w|[ =]emulation\b|^\s*(?:{join_role('workspace_runner')})\s+exec\b"
)
"""Options by which a runner of workflows starts their steps on this machine, or on its files."""
_WORKFLOW_SETTINGS = (".actrc",)
"""Settings of such runners, which are named for their program."""
_ENVIRONMENT_FILE = compile_lazily(r"--env-file[ =]([^\s;&|]+)")
_ASSIGNMENT = compile_lazily(r"(?:^|[\s;&|])([A-Za-z_]\w*)=([^\s;&|$`]+)")
_SOURCED_FILE = compile_lazily(r"(?:^|[\s;&|])(?:\.|source)\s+([^\s;&|$`]+)")
_FILE_LINE = compile_lazily(r"(?m)^\s*(?:export\s+)?([A-Za-z_]\w*)=[\"']?([^\n\"']*)")


class ArmedFile(NamedTuple):
    """An armed file as the memory holds it; `digest` is that of the text that was judged."""

    digest: str
    line: int
    what: str
    target: str
    tool: str
    seq: int
    is_certain: bool = True

    @classmethod
    def from_text(cls, digest: str, text: ArmedText, tool: str, seq: int) -> ArmedFile:
        """Return what the memory holds of an armed text."""
        return cls(digest, text.line, text.what, text.target, tool, seq, text.is_certain)

    @property
    def note(self) -> str:
        """What the file would do, and where that is known from."""
        armed_text = ArmedText(self.line, self.what, self.target, self.is_certain)
        # The origin first: a message cuts what is long, and the target may be.
        return f"armed by {self.tool} at #{self.seq}, line {self.line} {armed_text.meaning}"


def read_armed_files(facts: Facts, loaders: Sequence[Loader]) -> dict[str, ArmedFile]:
    """Return the armed files of the project and of the session, the newest last."""
    files: dict[str, ArmedFile] = {}
    for loader in loaders if facts.recall(OLDER_ARMED_KEY) else ():
        for target in loader.effect.targets:
            # Kept by digest only; the empty digest makes it be judged again as it is on disk.
            if target.path and facts.recall(mark_key("armed", target.path)):
                files[target.path] = ArmedFile("", 0, "", "", "an earlier write", 0)
    for key in (PROJECT_ARMED_KEY, ARMED_KEY):
        rows = facts.recall(key)
        for path, row in rows.items() if rows is not None else ():
            files[path] = ArmedFile(*row)
    return files


def iter_loaded_files(
    loaders: Sequence[Loader], armed: Mapping[str, ArmedFile], unjudged: Mapping[str, Any], facts: Facts, text: str
) -> Iterator[tuple[str, ArmedFile, Loader]]:
    """Yield each file that is armed now and that one of the commands may load; `text` is that of all commands."""
    for path in dict.fromkeys((*armed, *unjudged)):
        language = detect_file_language(path)
        loader = _find_loader(path, language, loaders, facts, text) or _find_naming(
            path, loaders, unjudged, facts, text
        )
        # Without a known ending only its first line tells the language, so every loader counts that takes any file.
        is_told = all(each.named_files for each in loaders)
        if loader is None and (language or is_told or not path.startswith(facts.project_root + "/")):
            continue
        remembered = armed.get(path)
        file = remembered if remembered is not None and path not in unjudged else None
        is_unseen = file is not None and file.digest == UNSEEN and facts.text(path) is None
        if not is_unseen and (file is None or facts.content_stamp(path) != file.digest):
            tool, seq = (remembered.tool, remembered.seq) if remembered is not None else unjudged.get(path, ("", 0))
            command = f"{loader.effect.by}\n{text}" if loader is not None else text
            file = judge_file(path, facts, str(tool), int(seq), command)
        if file is not None:
            yield path, file, loader or loaders[0]


def _find_loader(path: str, language: str, loaders: Sequence[Loader], facts: Facts, text: str) -> Loader | None:
    return next((each for each in loaders if each.may_load(path, language, facts.project_root, text)), None)


def _find_naming(
    path: str, loaders: Sequence[Loader], unjudged: Mapping[str, Any], facts: Facts, text: str
) -> Loader | None:
    """Return the command that may load settings of the session in which a file is named: `program = ["./info.sh"]`."""
    name = basename(path)
    named_settings = [settings for loader in loaders for settings in loader.named_files]
    for settings in dict.fromkeys((*unjudged, *named_settings)):
        if settings == path or (settings not in named_settings and detect_file_language(settings) in ("", WORKFLOW)):
            continue
        loader = _find_loader(settings, detect_file_language(settings), loaders, facts, text)
        content = facts.text(settings) if loader is not None and not loader.only_hooks else None
        if content and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", content):
            return loader
    return None


def judge_file(path: str, facts: Facts, tool: str, seq: int, command: str = "") -> ArmedFile | None:
    """Return what arms a file as it is on disk; None when nothing does, or it cannot be read.

    `command` is the text that loads it: it may give the file's variables their values.
    """
    text = facts.text(path)
    armed = judge_in_project(path, text, facts, command) if text else None
    return ArmedFile.from_text(facts.content_stamp(path), armed, tool, seq) if armed is not None else None


def judge_in_project(path: str, text: str, facts: Facts, command: str = "") -> ArmedText | None:
    """Return what arms a text that lies, or will lie, at a path of the project."""
    resolver = TargetResolver(facts)

    def classify_shell(inner: str, command: Command) -> list[Effect]:
        return ScriptClassifier(resolver).classify_shell(inner, command.cwd, command.host)

    if "$" in text and is_composition(path):
        text = fill_variables(text, _read_variables(path, command, resolver))
    # Settings alone name what is binary; text that was downloaded is judged itself when something loads it.
    downloads = facts.recall(DOWNLOADS_KEY) if may_name_code(path, text) else None
    names = tuple(downloads) if isinstance(downloads, Mapping) else ()
    is_on_host = bool(command) and _starts_on_host(command.partition("\n")[0], facts)
    armed = judge_text(path, text, resolver, classify_shell, names, is_on_host=is_on_host)
    if armed is None and (filled := _fill_values(path, text, command, resolver)) != text:
        armed = judge_text(path, filled, resolver, classify_shell, names, is_on_host=is_on_host)
    return armed


def _fill_values(path: str, text: str, command: str, resolver: TargetResolver) -> str:
    """Return a text with the values that other files and the command that loads it give to it."""
    if not may_take_values(path, text):
        return text
    filled = fill_from_files(text, path, resolver)
    if command and looks_up_variables(filled):
        filled = fill_lookups(filled, _read_variables(path, command, resolver))
    return filled


def _starts_on_host(command: str, facts: Facts) -> bool:
    """Return whether a runner of workflows starts their steps on this machine, by its options or its settings."""
    settings = (f"{facts.project_root}/{name}" for name in _WORKFLOW_SETTINGS if name[1:-2] in command)
    return any(_ON_HOST.search(f" {text} ") for text in (command, *(facts.text(path) or "" for path in settings)))


def _read_variables(path: str, command: str, resolver: TargetResolver) -> dict[str, str]:
    """Return the variables that a file gets: from `.env` beside it, files that are named, and the command."""
    patterns = (_ENVIRONMENT_FILE, _SOURCED_FILE, SUBSTITUTED_FILE)
    names = [name for pattern in patterns for name in pattern.findall(command)]
    places = [f"{path[: path.rfind('/')]}/.env", *map(resolver.to_absolute, names)]
    values: dict[str, str] = {}
    for place in places:
        values |= dict(_FILE_LINE.findall(resolver.facts.text(place) or "")) if place else {}
    return values | dict(_ASSIGNMENT.findall(command))
