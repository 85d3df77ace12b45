"""Command lines that delete, in the strings of a program: taken apart, their words count like those around them."""

from __future__ import annotations

from collections.abc import Sequence

from verdikt.effects.any_language.units import Token
from verdikt.effects.any_language.word_families import Family, find_families
from verdikt.knowledge import join_role
from verdikt.model.lazy_regex import compile_lazily

_DELETING_COMMAND = compile_lazily(rf"(?:^|[\s;&|`(\"'])(?:{join_role('forced_remover')})\s+-|\brmdir\s|\s-delete\b")
_REMOVER = compile_lazily(rf"(?:/\S*/)?(?:{join_role('forced_remover')})")
MAY_REMOVE = compile_lazily(rf"\b(?:{join_role('forced_remover')}|rmdir)\b|\s-delete\b")
_COMMAND_WORD = compile_lazily(r"(?:[$#]\{[^}]*\}|\$\([^)]*\)|[^\s;&|])+")
_QUOTE = compile_lazily("[\"']")


def expand_removals(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of a value that is a command line which deletes, taken apart; nothing for another value."""
    if not any(token.kind == "string" and MAY_REMOVE.search(token.text) for token in tokens):
        return []
    expanded = expand_commands(list(tokens), is_run=True)
    return expanded if len(expanded) > len(tokens) or expanded != list(tokens) else []


def expand_commands(tokens: list[Token], *, is_run: bool = False) -> list[Token]:
    """Return the tokens with command lines that delete taken apart: `"rm -rf " .. home .. "/x"`."""
    # A command line that nothing runs is quoted: `assert classify("rm -rf ~") == "block"`.
    is_run = is_run or any(token.kind == "name" and Family.START in find_families(token.text) for token in tokens)
    if not is_run or not any(token.kind == "string" and MAY_REMOVE.search(token.text) for token in tokens):
        return tokens
    expanded = []
    for index, token in enumerate(tokens):
        if token.kind == "string" and _DELETING_COMMAND.search(token.text):
            words = _COMMAND_WORD.findall(token.content)[:40]
            expanded += [_to_token(_QUOTE.sub("", word), token) for word in words]
        elif (
            token.kind == "string" and _REMOVER.fullmatch(token.content) and _has_option(tokens[index + 1 : index + 5])
        ):
            expanded.append(_to_token(token.content, token))  # `execute("rm", ["-rf", home .. "/x"])`
        else:
            expanded.append(token)
    return expanded


def _has_option(tokens: Sequence[Token]) -> bool:
    """Return whether the first string among tokens is an option."""
    return next((token.content[:1] == "-" for token in tokens if token.kind == "string"), False)


def _to_token(word: str, command: Token) -> Token:
    """Return a word of a command line as a token: a path or a text as a string, an option or a program as a name."""
    is_text = any(sign in word for sign in "/~$")
    return Token("string" if is_text else "name", f'"{word}"' if is_text else word, command.position, command.depth)
