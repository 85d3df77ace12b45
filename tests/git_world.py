"""What git knows in the world of a sequence, after the steps have changed it: settings, aliases, what is left out.

The world answers as the observer would: settings come from the text of commands and of files that are included, and
files are ignored by the patterns of the project's `.gitignore`, once a step has changed that file.
"""

import re
import shlex
from posixpath import join, normpath, relpath

from tests.fakes import FakeWorld
from verdikt.effects.git_settings_file import normalize_key, parse_git_settings
from verdikt.effects.ignore_lists import is_ignored
from verdikt.observe.git_repository import select_working_settings

_SETTINGS_OPTIONS = ("--unset", "--unset-all")
_SEPARATOR = re.compile(r"^[;&|]+$")


class GitWorld:
    """The settings that the steps of a sequence gave to a repository, and what they made of it."""

    def __init__(self, world: FakeWorld) -> None:
        self._world = world
        self._settings: list[tuple[str, str]] = []
        self._has_patterns = False
        self._before = dict(world.repository.aliases or {})

    def note_command(self, text: str) -> None:
        """Take in the settings that the commands of a text make."""
        for words in _split_commands(text):
            self._note_words(words)
        self._refresh()

    def note_files(self) -> None:
        """Take in what changed files say: those that are included, and the patterns of what git leaves out."""
        self._refresh()
        ignored = self._world.texts.get(f"{self._world.project_root}/.gitignore")
        if ignored is None:
            if not self._has_patterns:
                return
            ignored = ""
        self._has_patterns = True
        for path, fact in list(self._world.paths.items()):
            if fact.git in ("untracked", "ignored") and path.startswith(self._world.project_root + "/"):
                name = relpath(path, self._world.project_root)
                state = "ignored" if is_ignored(name, ignored.splitlines()) else "untracked"
                self._world.paths[path] = fact._replace(git=state)

    def _note_words(self, words: list[str]) -> None:
        if words[:1] != ["git"]:
            return
        if "config" in words[1:4]:
            rest = words[words.index("config") + 1 :]
            operands = [word for word in rest if not word.startswith("--") and word not in ("set", "-f", ".git/config")]
            if not set(rest).isdisjoint(_SETTINGS_OPTIONS) or rest[:1] == ["unset"]:
                key = normalize_key(operands[-1])
                self._settings = [(name, value) for name, value in self._settings if name != key]
            elif len(operands) == 2:
                self._settings.append((normalize_key(operands[0]), operands[1]))
        elif "branch" in words[1:2] and (upstream := _find_upstream(words)):
            self._world.repository = self._world.repository._replace(upstream=upstream)

    def _refresh(self) -> None:
        settings = self._expand(self._settings, f"{self._world.project_root}/.git")
        repository = self._world.repository
        aliases = self._before | {key[6:]: value for key, value in settings if key.startswith("alias.")}
        remotes = dict(repository.remotes or {})
        remotes |= {key[7:-4]: value for key, value in settings if key.startswith("remote.") and key.endswith(".url")}
        merged = [value for key, value in settings if key == f"branch.{repository.branch}.merge"]
        upstream = f"origin/{merged[-1].removeprefix('refs/heads/')}" if merged else repository.upstream
        listing = "".join(f"{key}\n{value}\0" for key, value in settings)
        self._world.repository = repository._replace(
            aliases=aliases, remotes=remotes, upstream=upstream, settings=select_working_settings(listing)
        )

    def _expand(self, settings: list[tuple[str, str]], directory: str, depth: int = 0) -> list[tuple[str, str]]:
        expanded = []
        for key, value in settings:
            expanded.append((key, value))
            if key == "include.path" and depth < 4:
                place = normpath(join(directory, value.replace("~", self._world.home, 1)))
                inner = parse_git_settings(self._world.texts.get(place, ""))
                expanded += self._expand(inner, place.rpartition("/")[0], depth + 1)
        return expanded


def _split_commands(text: str) -> list[list[str]]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if _SEPARATOR.match(word):
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:
        return []
    return commands


def _find_upstream(words: list[str]) -> str:
    for index, word in enumerate(words):
        if word in ("-u", "--set-upstream-to") and index + 1 < len(words):
            return words[index + 1]
        if word.startswith("--set-upstream-to="):
            return word.partition("=")[2]
    return ""
