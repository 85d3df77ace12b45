"""Program text in other languages than shell: what it would do, as far as its constants tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from verdikt.effects.arguments import word_set
from verdikt.effects.code.process_ends import ends_own_process
from verdikt.model.effect import Target
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_SCRIPT_LANGUAGES = word_set(
    "swift scala rust node javascript perl ruby php lua awk julia tcl groovy java r osascript elixir go c haskell lisp "
    "scheme ocaml crystal kotlin dart octave elisp csharp nim erlang zig v gdb unknown"
)
_PLAIN_CHARACTERS = "-_./=:,@%+"
# In octal, as modes are written in any language: `0o4755`, `04755`.
_SETS_USER = compile_lazily(r"\bchmod\w*\b[^;\n]{0,80}?(?:\b0o?[4-7][0-7]{3}\b|\bS_ISUID\b)")


def classify_code(language: str, text: str, call: Invocation, path: str = "") -> Iterator[Effect]:
    """Yield the effects of program text; `code.run` for a language without a classifier. Never raises.

    `path` is that of the file that holds the text, if one does: programs find other files by it.
    """
    if _SETS_USER.search(text):
        yield call.make_effect("priv.setuid", note="a program that runs as its owner")
    if "verdikt" in text and ends_own_process(text):
        yield call.make_effect("sys.security", (Target("verdikt", "pid"),), note="ends what guards or records")
    # Imported when needed: the three together take about a third of the time to import the classifier, few commands
    # hold such text, and the program tables that they use import this package.
    if language == "python":
        from verdikt.effects.code.python import classify_python

        yield from classify_python(text, call, path)
    elif language == "sql":
        yield from classify_query(text, call)
    elif language in ("powershell", "cmd"):
        from verdikt.effects.code.windows_shell import classify_windows_shell

        yield from classify_windows_shell(text, call, language)
    elif language in _SCRIPT_LANGUAGES:
        from verdikt.effects.code.script import classify_script

        yield from classify_script(language, text, call, path)
    else:
        yield call.make_effect("code.run", note=language)


def classify_query(text: str, call: Invocation, dialect: str = "", *, recoverable: bool = False) -> Iterator[Effect]:
    """Yield the effects of SQL; `recoverable` says that the database can be lost without harm."""
    from verdikt.effects.code.sql import classify_sql  # few commands and tools hold a query

    yield from classify_sql(text, call, dialect, recoverable=recoverable)


def quote_shell_word(word: str, unquoted: str = "") -> str:
    """Return a word quoted for shell text; characters in `unquoted` need no quotes besides the plain ones."""
    if word and all(c.isalnum() or c in _PLAIN_CHARACTERS or c in unquoted for c in word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"
