"""Files of code that an editor loads: those it is told by options and commands, and those it finds in a directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdikt.knowledge import find_role
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

_SOURCED = compile_lazily(r"(?:^|\|)\s*(?:so|source|luafile|runtime|pyfile|py3file)!?\s+(\S+)")
_VIM_EDITORS = find_role("vim_editor")
_VIM_FILES = (".nvim.lua", ".nvimrc", ".exrc")
_DIRECTORY_LOCALS = ".dir-locals.el"
_NO_LOCALS = ("-Q", "--quick")


def list_editor_files(call: Invocation) -> list[Word]:
    """Return the files of code that an editor loads when it is started like this."""
    words = list(call.args.get_values("-l --load --script -S -u"))
    texts = [word.text for word in call.args.get_values("-c --cmd -eval --eval")]
    for text in texts:
        words += map(Word, _SOURCED.findall(text))
    if call.name in _VIM_EDITORS:
        words += map(Word, _list_present(call, _VIM_FILES)) if any("exrc" in text for text in texts) else ()
    elif not call.args.has_flag(" ".join(_NO_LOCALS)) and any("local-eval" in text for text in texts):
        words += map(Word, _list_present(call, (_DIRECTORY_LOCALS,)))
    return words


def _list_present(call: Invocation, names: tuple[str, ...]) -> list[str]:
    """Return those of some names that are there in the working directory."""
    places = ((name, call.resolver.to_absolute(name, call.command.cwd)) for name in names)
    return [name for name, place in places if place and call.facts.text(place) is not None]
