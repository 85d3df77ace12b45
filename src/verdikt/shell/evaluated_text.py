"""Strings that bash evaluates although they are quoted: subscripts, arithmetic, callbacks, exported functions.

`test -v 'a[$(cmd)]'`, `let 'a[$(cmd)]'`, `x='a[$(cmd)]'; (( x ))`, `mapfile -C cmd`, `compgen -C cmd` and
`BASH_FUNC_ls%%='() { cmd; }'` all run `cmd`. Every such string goes through the functions here.
"""

from typing import TYPE_CHECKING

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.shell.command_call import CommandCall
    from verdikt.shell.scope import Scope
    from verdikt.shell.word_expansion import Expander

_NAME = compile_lazily(r"[A-Za-z_]\w*")
_SUBSCRIPT = compile_lazily(r"[A-Za-z_]\w*\[")
_EXPORTED_FUNCTION = compile_lazily(r"^BASH_FUNC_([\w.:-]+)(?:%%|\(\))=\(\)\s*(\{.*)$")
_COPROCESS = compile_lazily(r"\bcoproc[ \t]+([A-Za-z_]\w*)[ \t]*[({]")
_NUMERIC_TESTS = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_TESTS = frozenset(("test", "[", "[["))
_NAMING_BUILTINS = frozenset(("unset", "read", "let", "getopts", "wait", "mapfile", "readarray", "export", "local"))
"""Builtins whose operands name variables, with subscripts that are evaluated."""
_DECLARING_BUILTINS = ("declare", "typeset", "local", "readonly")
_CALLBACK_OPTIONS = {"mapfile": "-C", "readarray": "-C", "compgen": "-C", "complete": "-C", "bind": "-x"}


CALLBACK_BUILTINS = frozenset(_CALLBACK_OPTIONS)
"""Builtins that run a command which one of their options names."""
EVALUATING_BUILTINS = frozenset(
    ("printf", "declare", "typeset", "readonly", *_TESTS, *_NAMING_BUILTINS, *_CALLBACK_OPTIONS)
)
"""Builtins that evaluate some of their words."""


COPROCESS_DESCRIPTORS = ("62", "61")
"""Stand for the descriptors that a coprocess is read from and written to."""


def declare_coprocesses(text: str, scope: "Scope") -> None:
    """Set the arrays through which a text reaches its coprocesses: `>&"${COPROC[1]}"`."""
    for name in ("COPROC", *_COPROCESS.findall(text)):
        scope.set_variable(name, list(COPROCESS_DESCRIPTORS))


def has_substitution(text: str) -> bool:
    """Whether a string holds a command substitution."""
    return "$(" in text or "`" in text


def walk_evaluated_words(call: "CommandCall") -> None:
    """Walk the commands in words that a builtin evaluates, whatever quotes they stood in."""
    texts = [word.text for word in call.words]
    name = call.name
    option = _CALLBACK_OPTIONS.get(name, "")
    for index, text in enumerate(texts[1:], 1):
        if option and texts[index - 1] == option and text != UNKNOWN:
            call.walk_shell_text(text, label=f"{name} {option}", inherit_stdin=False)
        elif has_substitution(text) and _is_evaluated(name, texts, index):
            call.walker.expand_quoted(text, call.scope)
        elif _is_expression(name, texts, index):
            walk_arithmetic_names(call.walker, text, call.scope)


def _is_evaluated(name: str, texts: list[str], index: int) -> bool:
    """Return whether a builtin evaluates its word at an index."""
    text, before = texts[index], texts[index - 1]
    if name == "let":
        return True
    if name in _TESTS:
        following = texts[index + 1] if index + 1 < len(texts) else ""
        is_number = name == "[[" and (before in _NUMERIC_TESTS or following in _NUMERIC_TESTS)
        return before in ("-v", "-R") or is_number
    if name == "printf":
        return before == "-v"
    if name in _DECLARING_BUILTINS:
        # The value of an integer is an expression, and that of a reference a name with a subscript.
        has_meaning = any(word[:1] == "-" and ("i" in word or "n" in word) for word in texts[1:index])
        return has_meaning or _SUBSCRIPT.match(text) is not None
    return name in _NAMING_BUILTINS and _SUBSCRIPT.match(text) is not None


def _is_expression(name: str, texts: list[str], index: int) -> bool:
    """Return whether a word of a builtin is an expression, in which names stand for their values."""
    is_integer = name in _DECLARING_BUILTINS and any(word[:1] == "-" and "i" in word for word in texts[1:index])
    return name == "let" or (is_integer and "=" in texts[index])


def walk_arithmetic_names(expander: "Expander", text: str, scope: "Scope") -> None:
    """Walk the commands in the values of variables that stand in an expression: bash evaluates those, too."""
    for name in dict.fromkeys(_NAME.findall(text)):
        value = scope.get_variable(name)
        if isinstance(value, str) and has_substitution(value):
            expander.expand_quoted(value, scope)


def walk_test_names(expander: "Expander", text: str, scope: "Scope") -> None:
    """Walk what `[[ … ]]` evaluates: names after `-v`, and both sides of a comparison of numbers."""
    words = text.split()
    for index, word in enumerate(words):
        around = {words[index - 1] if index else "", words[index + 1] if index + 1 < len(words) else ""}
        if around & _NUMERIC_TESTS:
            walk_arithmetic_names(expander, word, scope)
    for groups in _QUOTED_NAME.findall(text):
        expander.expand_quoted("".join(groups), scope)


_QUOTED_NAME = compile_lazily(r"-(?:[vR]|eq|ne|lt|le|gt|ge)\s+'([^']*)'|'([^']*)'\s+-(?:eq|ne|lt|le|gt|ge)\b")


def walk_exported_functions(call: "CommandCall") -> None:
    """Walk functions that a variable hands to a shell: `env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls`."""
    texts = [word.text for word in call.words] + [f"{name}={word.text}" for name, word in call.assignments]
    for text in texts:
        if match := _EXPORTED_FUNCTION.match(text):
            call.walk_shell_text(f"{match[1]}() {match[2]}", label="BASH_FUNC", inherit_stdin=False)
