"""Which files of a project a command may load without naming them, by their language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from verdikt.effects.runner_settings import IMAGE, SHELL
from verdikt.effects.workflow_sections import WORKFLOW
from verdikt.knowledge import find_role, join_role
from verdikt.model.effect import Certainty, Effect, EffectClass, Target, Zone
from verdikt.model.lazy_regex import compile_lazily

_JAVA = ("java", "kotlin", "groovy", "scala", "lisp", "xml", "settings")
_LANGUAGES_BY_ROLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("loads_python", ("python", "notebook", "settings")),
    ("loads_node", ("node", "package", "settings")),
    ("loads_ruby", ("ruby",)),
    ("loads_rust", ("rust", "c", "settings")),
    ("loads_go", ("go", "c")),
    ("loads_java", _JAVA),
    ("loads_php", ("php", "php_package")),
    ("loads_lua", ("lua",)),
    ("loads_perl", ("perl",)),
    ("loads_elixir", ("elixir",)),
    ("loads_settings", ("settings", IMAGE)),
    ("loads_workflow", (WORKFLOW,)),
    ("shell", (SHELL,)),
    ("loads_shell", (SHELL,)),
    ("loads_nothing", ()),
)
_LANGUAGES = {
    name: frozenset(languages) for role, languages in reversed(_LANGUAGES_BY_ROLE) for name in find_role(role)
}
"""Program → languages of what it loads; a program that is not in the table may load anything."""
_ANY_LANGUAGE = find_role("loads_anything")
PROJECT_LOADERS = _ANY_LANGUAGE.union(name for name, languages in _LANGUAGES.items() if languages)
"""Programs that load files of the project which their command line need not name."""
_LOADING_EFFECTS = frozenset(
    "code.build code.run pkg.install pkg.run unknown.program container.run code.unknown infra.read infra.apply".split()
)
NAMING_PREFIXES = ("k8s.", "net.connect", "net.fetch", "net.listen", "net.tunnel", "db.", "infra.", "cloud.", "vm.")
"""Effects of clients, which load a file when they are told its name."""
_GIT_HOOK_COMMAND = compile_lazily(
    rf"^(?:{join_role('work_tree_changer')})\s(?:-\S+\s+(?:\S+\s+)??)*"
    r"(?:commit|push|merge|rebase|checkout|switch|pull|am|cherry-pick|worktree)\b"
)
_PROJECT_RUN = compile_lazily(
    r"(?i)(?:run|exec(?:ute)?|start|launch|build|debug|invoke)_?\w*(?:task|test|build|script|target|project|config|suite|app"
    r"|program|command|npm|make)"
)
"""Names of connected tools that run what a project has, as an editor does: `run_task`, `execute_tests`."""
_HOOK_FILE = compile_lazily(
    r"/(?:\.husky|\.githooks|\.git-hooks|hooks)/|/\.pre-commit-config\.yaml$|/lefthook\.ya?ml$|/\.lintstagedrc"
)
_INSTALLERS = find_role("python_installer")
_LOCAL_INSTALL = compile_lazily(
    r"\s(?:-e|--editable|\.{1,2}(?:[/\[]\S*)?|/\S+|file:\S+|\S+\.(?:whl|tar\.gz|zip))(?=\s|$)"
)
_COMPILER_PLUGIN = compile_lazily(r"\s--?[\w:]*(?:plugin|processor|proc-macro)[\w-]*[ =:]")
_CLASS_PATH = compile_lazily(r"\s(?:-cp|--?class-?path)[ =]")
_NO_PROCESSING = compile_lazily(r"\s-proc:none\b")
_PATH_STARTS = ("/", ".", "~")
_OWN_PROGRAM = compile_lazily(
    r"(?:\.{1,2}/|~/|/(?:tmp|home|Users|root|var/tmp)/)(?!\S*/(?:\.venv|venv|node_modules|\.local|\.cargo)/)\S*/?[\w-]+(?=\s|$)"
)
_LANGUAGES_BY_SUFFIX = {
    **dict.fromkeys((".sh", ".bash", ".zsh"), frozenset((SHELL,))),
    ".py": _LANGUAGES["python"],
    **dict.fromkeys((".js", ".mjs", ".ts"), _LANGUAGES["node"]),
    ".rb": _LANGUAGES["ruby"],
    ".pl": _LANGUAGES["perl"],
}
"""Ending of a program that is run by its own name → languages of what it loads."""


class Loader(NamedTuple):
    """A command that may load files: all languages when `languages` is None.

    With `only_hooks` it is git, which loads hooks and `git_programs`: files and directories that its settings name.
    """

    effect: Effect
    languages: frozenset[str] | None
    only_hooks: bool = False
    git_programs: tuple[str, ...] = ()
    named_files: tuple[str, ...] = ()
    """The files that its words or variables name, of a program that loads no others."""

    def may_load(self, path: str, language: str, project_root: str, text: str = "") -> bool:
        """Return whether the command may load a file of the project, or one that its words point to.

        `text` is the whole command text: it may enter another directory before.
        """
        if self.named_files:
            return path in self.named_files
        if self.only_hooks:
            is_hook = path.startswith(project_root + "/") and _HOOK_FILE.search(path) is not None
            return is_hook or any(path == place or path.startswith(place + "/") for place in self.git_programs)
        if any(target.path == path for target in self.effect.targets):
            return True  # it is named, whatever its language
        if language == WORKFLOW and (self.languages is None or WORKFLOW not in self.languages):
            return False  # what runs at a forge says nothing of a command here
        if self.languages is not None and language not in self.languages and "/node_modules/" not in path:
            return False
        if project_root and path.startswith(project_root + "/"):
            return True
        directory, _, name = path.rpartition("/")
        # Outside the project only what the words point to: `PYTHONPATH=/tmp/x`, `-p plugin`.
        is_named = directory in self.effect.by or name.partition(".")[0] in self.effect.by.split()
        return is_named or directory in text or (bool(text) and _enters_directory(text, directory))


def _enters_directory(text: str, directory: str) -> bool:
    """Return whether a text changes to a directory of this name: `cd ../other && pytest`."""
    name = directory[directory.rfind("/") + 1 :]
    return (
        bool(name)
        and re.search(rf"\b(?:cd|pushd|-C|-p|--prefix|--directory)[ =]\S*{re.escape(name)}\b", text) is not None
    )


def find_loaders(effects: Iterable[Effect]) -> list[Loader]:
    """Return the commands among these effects that may load files which they do not name."""
    loaders = []
    for effect in effects:
        if effect.by[:1] in _PATH_STARTS and _OWN_PROGRAM.match(effect.by):
            # Not the machine's program of that name: `/tmp/w` is what was compiled there.
            loaders.append(Loader(effect, None))
        elif effect.what in _LOADING_EFFECTS or _is_loading_program(effect):
            languages = _find_languages(effect)
            if languages is None or languages:
                loaders.append(Loader(effect, languages))
        elif effect.what == "mcp.run" and _PROJECT_RUN.search(effect.by):
            loaders.append(Loader(effect, None))
        elif effect.what.startswith("git.") and _GIT_HOOK_COMMAND.match(effect.by):
            loaders.append(Loader(effect, None, only_hooks=True))
    return loaders


def find_git_loaders(effects: Iterable[Effect], git_programs: Iterable[str]) -> list[Loader]:
    """Return the git commands, which may run what the settings of the repository name: filters run on `git add`."""
    places = tuple(git_programs)
    return [Loader(effect, None, only_hooks=True, git_programs=places) for effect in effects if _is_git(effect)]


def find_naming_loaders(effects: Iterable[Effect], text: str, paths: Iterable[str]) -> list[Loader]:
    """Return the clients that are given a file: `locust -f x.py`, `KUBECONFIG=x.yaml kubectl get`, `ssh -F x`."""
    loaders = []
    for effect in effects:
        if effect.what.startswith(NAMING_PREFIXES):
            named = tuple(path for path in paths if _names_file(effect.by, text, path[path.rfind("/") + 1 :]))
            loaders += [Loader(effect, None, named_files=named)] if named else []
    return loaders


def find_settings_loaders(effects: Iterable[Effect], paths: Iterable[str]) -> list[Loader]:
    """Return the commands that read settings of the session: `doxygen Doxyfile`, and `buf.gen.yaml` for `buf`."""
    names = [(path, path[path.rfind("/") + 1 :]) for path in paths]
    loaders = []
    for effect in effects if names else ():
        if effect.what in _LOADING_EFFECTS or effect.what.startswith(NAMING_PREFIXES):
            own = effect.by.partition(" ")[0].rpartition("/")[2] + "."
            named = tuple(path for path, name in names if name in effect.by or (len(own) > 1 and name.startswith(own)))
            loaders += [Loader(effect, None, named_files=named)] if named else []
    return loaders


def _names_file(words: str, text: str, name: str) -> bool:
    return name in words or (name in text and re.search(rf"\w=\S*{re.escape(name)}", text) is not None)


def _is_git(effect: Effect) -> bool:
    return effect.what.startswith("git.") and effect.what != "git.config"


def _is_loading_program(effect: Effect) -> bool:
    """Return whether a program that loads code does something: `alembic upgrade` changes a schema by such code."""
    if effect.cls is EffectClass.READ or effect.what.startswith(("fs.", "git.", "code.")):
        return False
    return bool(_LANGUAGES.get(effect.by.partition(" ")[0].rpartition("/")[2]))


def make_armed_effect(loader: Loader, path: str, note: str, project_root: str, *, is_certain: bool = True) -> Effect:
    """Return the effect of a command that may load an armed file; `is_certain` says whether its text surely is."""
    return Effect(
        cls=EffectClass.EXECUTE,
        what="code.armed",
        targets=(Target(path.removeprefix(project_root + "/"), "path", path, Zone.PROJECT),),
        certainty=Certainty.POSSIBLE if loader.languages is None or not is_certain else Certainty.CERTAIN,
        recoverable=False,
        by=loader.effect.by,
        note=note,
    )


def _find_languages(effect: Effect) -> frozenset[str] | None:
    """Return the languages of what a command loads; None for all, an empty set for nothing."""
    word = effect.by.partition(" ")[0]
    name = word.rpartition("/")[2]
    if name in _INSTALLERS and not _LOCAL_INSTALL.search(effect.by):
        return frozenset()
    if name not in _LANGUAGES and name[-1:].isdigit():
        name = re.sub(r"[\d.]+$", "", name)
    languages = _LANGUAGES.get(name)
    if name in _ANY_LANGUAGE:
        return None
    if languages is not None and not languages and not _NO_PROCESSING.search(effect.by):
        # A compiler runs its plugins, and those of Java what its class path offers as a processor of annotations.
        if _COMPILER_PLUGIN.search(effect.by):
            return None
        return frozenset(_JAVA) if _CLASS_PATH.search(effect.by) else languages
    if languages is None and effect.what in ("container.run", "infra.read", "infra.apply"):
        return frozenset(("settings",))
    if languages is None:
        return _LANGUAGES_BY_SUFFIX.get(name[name.rfind(".") :])
    return languages
