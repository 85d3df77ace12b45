"""What a deletion of all that git leaves out has to spare: the settings of the project, which are in no commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdikt.effects.execution_context import find_working_directory
from verdikt.model.facts import IGNORE_LISTS_KEY

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.shell.command import Word

_KEPT_SETTINGS = ("!.env", "!/.env", "!.env*")
_OTHER_SETTINGS = (".env.local", ".env.production", ".env.staging", ".env.development", ".env.test")


def keeps_settings(word: Word, call: Invocation) -> bool:
    """Return whether a `git clean` of what is ignored keeps the settings of the project: `-X -e '!.env'`.

    Not where something else than the project's own lists, as they were, may say what is ignored.
    """
    is_alone = len(call.commands) == 1 and not call.command.assignments and not call.args.operands
    is_here = call.command.argv[1].text == "clean" and find_working_directory(call) == call.facts.project_root
    if word.text not in _KEPT_SETTINGS or not (is_alone and is_here) or call.facts.recall(IGNORE_LISTS_KEY):
        return False
    others = () if word.text.endswith("*") else _OTHER_SETTINGS
    return all(call.facts.path(f"{call.facts.project_root}/{name}", git=False).kind != "file" for name in others)


def is_settings_pattern(word: Word, _call: Invocation) -> bool:
    """Return whether a pattern keeps the settings of the project; what else is deleted then depends on other lists."""
    return word.text in _KEPT_SETTINGS
