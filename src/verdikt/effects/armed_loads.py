"""Armed text that one command line itself shows: what it writes and then loads, and what a named file imports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import basename
from typing import TYPE_CHECKING

from verdikt.effects.armed_text import ShellClassifier, judge_text
from verdikt.effects.code_loaders import Loader, find_loaders, make_armed_effect
from verdikt.effects.code_sections import detect_file_language
from verdikt.effects.invocation import SHELLS
from verdikt.effects.local_imports import list_local_imports
from verdikt.effects.runner_settings import SHELL
from verdikt.knowledge import find_language

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.effects.target import TargetResolver
    from verdikt.model.effect import Effect

TextLoader = Callable[[str], str | None]
"""Returns the text of a file; None when there is none."""


def add_armed_effects(
    effects_by_command: list[list[Effect]],
    written_texts: Mapping[str, str],
    resolver: TargetResolver,
    classify_shell: ShellClassifier,
) -> None:
    """Add `code.armed` to commands that may load what the same text wrote: `cat > conftest.py <<E … E; pytest`."""
    root = resolver.project_root
    languages = _find_run_languages(effects_by_command)
    armed_texts = {
        path: judge_text(path, text, resolver, classify_shell, program_language=languages.get(path, ""))
        for path, text in written_texts.items()
    }
    for effects in effects_by_command if any(armed_texts.values()) else ():
        for loader in find_loaders(effects):
            effects += [
                make_armed_effect(
                    loader,
                    path,
                    f"line {armed.line} {armed.meaning}; written by this command",
                    root,
                    is_certain=armed.is_certain,
                )
                for path, armed in armed_texts.items()
                if armed is not None and loader.may_load(path, detect_file_language(path), root)
            ]


def _find_run_languages(effects_by_command: list[list[Effect]]) -> dict[str, str]:
    """Return the files that are run by name, maybe before they are written, and the languages of their programs.

    `mkfifo p; sh p & cat x > p` waits for what the other command writes.
    """
    runs = [effect for effects in effects_by_command for effect in effects if effect.what == "code.run"]
    return {
        target.path: SHELL if name in SHELLS else find_language(name)
        for effect in runs
        for name in [basename(effect.by.partition(" ")[0])]
        for target in effect.targets
        if target.path
    }


def find_inline_imports(language: str, text: str, *, load_text: TextLoader, call: Invocation) -> list[Effect]:
    """Return `code.armed` for each armed file that code on the command line imports: `python -c 'import pkg'`."""
    directory = call.resolver.to_absolute(".", call.command.cwd)
    if language not in _INLINE_MARKS or not any(mark in text for mark in _INLINE_MARKS[language]) or not directory:
        return []
    name = f"{call.name} {call.command.argv[1].text}" if len(call.command.argv) > 1 else call.name
    origin = call.make_effect("code.run")
    lines = text.replace(";", "\n")
    return find_armed_imports(f"{directory}/{name}", language, origin, load_text=load_text, call=call, text=lines)


_INLINE_MARKS = {"python": ("import",), "node": ("./",), "ruby": ("require", "load"), "php": ("include", "require")}


def find_armed_imports(
    path: str, language: str, origin: Effect, *, load_text: TextLoader, call: Invocation, text: str | None = None
) -> list[Effect]:
    """Return `code.armed` for each file that a file which is run imports, one level deep, and that is armed."""
    text = load_text(path) if text is None else text
    effects = []
    resolver = call.resolver
    for candidate_paths in list_local_imports(language, path, text, resolver.project_root) if text else ():
        # An import may stand for several files; the first that exists is what is loaded.
        loaded_texts = ((candidate, load_text(candidate)) for candidate in candidate_paths)
        imported_path, imported_text = next((pair for pair in loaded_texts if pair[1] is not None), ("", None))
        if not imported_text or call.shell_classifier is None:
            continue
        armed_text = judge_text(imported_path, imported_text, resolver, call.shell_classifier)
        if armed_text is not None:
            name = path[path.rfind("/") + 1 :]
            note = f"line {armed_text.line} {armed_text.meaning}; `{name}` imports it"
            loader, root = Loader(origin, frozenset()), resolver.project_root
            effects.append(make_armed_effect(loader, imported_path, note, root, is_certain=armed_text.is_certain))
    return effects
