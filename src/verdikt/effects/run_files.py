"""Classify the files that a command runs or compiles, by their text and by where it came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from verdikt.effects.armed_loads import find_armed_imports
from verdikt.effects.code_sections import blank_comments
from verdikt.effects.command_input import detect_language
from verdikt.effects.entry_files import list_entry_files, select_tasks
from verdikt.effects.invocation import SHELLS
from verdikt.effects.local_imports import list_module_files
from verdikt.knowledge import find_record, find_role
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.effects.target import TargetResolver
    from verdikt.effects.written_files import WrittenFiles
    from verdikt.model.effect import Effect
    from verdikt.shell.command import Command

_SOURCE_LANGUAGES = {".go": "go", ".c": "c", ".cc": "c", ".cpp": "c", ".rs": "rust", ".java": "java", ".swift": "swift"}
_COMPILERS = find_role("compiler")
_SOURCE_RUNNERS = find_role("source_runner")
IMPORTS_VERDIKT = compile_lazily(r"\b(?:from|import)\s+verdikt\.(?:ledger|cli)\b")

LOADING_EFFECTS = frozenset(("sys.kernel", "code.unknown"))
"""Effects by which a file becomes a part of something that runs: `insmod x.ko`, `LD_PRELOAD=x.so`."""

CodeClassifier = Callable[[str, str, "Invocation", str], "list[Effect]"]
"""(language, text, the command that runs it, the file that holds it) → effects."""


class RunFiles:
    """Classifies the files that one command runs. The deepest text that is still followed reads no further file."""

    __slots__ = ("_classify_code", "_files", "_is_deepest", "_resolver")

    def __init__(
        self, resolver: TargetResolver, files: WrittenFiles, classify_code: CodeClassifier, *, is_deepest: bool
    ) -> None:
        self._resolver = resolver
        self._files = files
        self._classify_code = classify_code
        self._is_deepest = is_deepest

    def classify_run(self, call: Invocation, effects: Sequence[Effect]) -> list[Effect]:
        """Classify files that are run by what this action put into them, or by where they came from."""
        more_effects: list[Effect] = []
        for effect in effects:
            if effect.what in LOADING_EFFECTS:
                more_effects += self._classify_loaded(call, effect)
            if effect.what != "code.run":
                continue
            for target in effect.targets:
                if target.path and self._files.is_downloaded(target.path):
                    more_effects.append(call.make_effect("code.remote", (target,), note="runs what it downloaded"))
                elif target.path in self._files.decoded and target.path not in self._files.texts:
                    more_effects.append(call.make_effect("code.hidden", (target,), note="runs what a decoder made"))
                elif target.path:
                    more_effects += self._classify_script_file(call, target.path)
                    more_effects += self._classify_imports(call, target.path, effect)
                elif "-m" in [word.text for word in call.command.argv[1:4]]:
                    more_effects += self.classify_module(call, target.text, effect)
        return more_effects

    def _classify_loaded(self, call: Invocation, effect: Effect) -> list[Effect]:
        """Return `code.remote` for a file that the kernel or a program loads and that this action downloaded."""
        paths = [target.path or self._resolver.to_absolute(target.text, call.command.cwd) for target in effect.targets]
        is_downloaded = any(path in self._files.downloaded for path in paths)
        return (
            [call.make_effect("code.remote", effect.targets, note="runs what it downloaded")] if is_downloaded else []
        )

    def classify_compiled(self, call: Invocation) -> list[Effect]:
        """Classify source files that this action wrote and compiles, in order to run them, or that it runs."""
        effects: list[Effect] = []
        if call.command.stdin and any(word.text == "-" for word in call.command.argv):
            effects += self._classify_code("c", call.command.stdin, call, "")
        for word in call.command.argv[1:]:
            language = _SOURCE_LANGUAGES.get(word.text[word.text.rfind(".") :])
            path = self._resolver.to_absolute(word.text, call.command.cwd) if language else ""
            load = self._files.load_text if runs_source(call.command) else self._files.texts.get
            if language and (text := load(path)) is not None:
                effects += self._classify_code(language, text, call, path)
        return effects

    def classify_entries(self, call: Invocation) -> list[Effect]:
        """Classify the files that a runner starts without being told their names."""
        effects: list[Effect] = []
        if self._is_deepest:
            return effects
        for entry in list_entry_files(call.command):
            path = self._resolver.to_absolute(entry.path, call.command.cwd)
            text = self._files.load_text(path) if path else None
            if text is None:
                continue
            text = select_tasks(text, call.command) if entry.has_tasks else text
            effects += self._classify_code(entry.language, blank_comments(entry.language, text), call, path)
        return effects

    def classify_module(self, call: Invocation, module: str, effect: Effect) -> list[Effect]:
        """Classify a module of the project that an interpreter runs by its dotted name, and what it imports."""
        directories = self._list_module_directories(call, module) if module.replace(".", "_").isidentifier() else ()
        files = (path for directory in directories for path in list_module_files(directory, module))
        path = next((path for path in files if self._files.load_text(path) is not None), "")
        if not path:
            return []
        return [*self._classify_script_file(call, path), *self._classify_imports(call, path, effect)]

    def _list_module_directories(self, call: Invocation, module: str) -> list[str]:
        """Return where a module is looked for: where the program runs, by its variable, in the sources of a package."""
        searched = [value.text for name, value in call.list_assignments() if name == "PYTHONPATH"]
        names = [".", *(name for text in searched for name in text.split(":") if name)]
        if find_record(module) is None:
            names.append("src")  # from where a package is installed so that it can be edited
        return [place for name in names if (place := self._resolver.to_absolute(name, call.command.cwd))]

    def _classify_imports(self, call: Invocation, path: str, effect: Effect) -> list[Effect]:
        language = detect_language(call.name, path, SHELLS)
        # Installed programs import the machine's own modules.
        if not language or not path.startswith(self._resolver.project_root + "/"):
            return []
        return find_armed_imports(path, language, effect, load_text=self._files.load_text, call=call)

    def _classify_script_file(self, call: Invocation, path: str) -> list[Effect]:
        """Classify a file in another language than shell; the shell analysis follows shell files itself."""
        language = detect_language(call.name, path, SHELLS)
        text = self._files.load_text(path) if language else None
        if text is None or self._is_deepest:
            return []
        effects = self._classify_code(language, text, call, path)
        # A program that existed before may use the library; one that this action wrote could forge the log.
        if language == "python" and path in self._files.texts and IMPORTS_VERDIKT.search(text):
            effects.append(call.make_effect("guard.forge"))
        return effects


def runs_source(command: Command) -> bool:
    """Return whether a compiler runs what it compiles: `go run main.go`, `java Main.java`."""
    name = command.name
    return name in _SOURCE_RUNNERS or (name in _COMPILERS and [word.text for word in command.argv[1:2]] == ["run"])
