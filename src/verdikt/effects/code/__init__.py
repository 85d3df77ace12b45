"""Program text in other languages than shell: what it would do, as far as its constants tell."""

from __future__ import annotations

from verdikt.effects.argument import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdikt.effects.call import Call
    from verdikt.model.effect import Effect

_TOKENS = words(
    "swift scala rust node javascript perl ruby php lua awk julia tcl groovy java r osascript elixir go c haskell lisp scheme ocaml crystal kotlin dart octave elisp"
)


def read_code(language: str, text: str, call: Call) -> Iterator[Effect]:
    """The effects of program text; nothing for a language that nobody here reads. Never raises."""
    if language == "python":
        from verdikt.effects.code.python import read_python

        yield from read_python(text, call)
    elif language == "sql":
        from verdikt.effects.code.sql import read_sql

        yield from read_sql(text, call)
    elif language in ("powershell", "cmd"):
        from verdikt.effects.code.windows import read_windows

        yield from read_windows(text, call, language)
    elif language in _TOKENS:
        from verdikt.effects.code.script import read_script

        yield from read_script(language, text, call)
    else:
        yield call.effect("code.run", note=language)
