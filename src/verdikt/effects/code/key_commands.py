"""The commands that a client of a store of keys is given: by operand, input, file or script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdikt.effects.code.client_scripts import read_client_files
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

EVERY_KEY = "*"
"""Stands for the keys that a script gets from a listing."""
_SCRIPT_CALL = compile_lazily(r"\b(?:redis|server)\.p?call\(\s*['\"](\w+)['\"]")
_LISTING_CALLS = ("keys", "scan")


def list_store_commands(call: Invocation) -> list[list[str]]:
    """Return the commands in lower case, each with its arguments and without the repetitions of a long input."""
    lines = [" ".join(word.text for word in call.args.operands)]
    lines += (call.command.stdin or "").splitlines()
    scripts = []
    for text in read_client_files(call, "--eval"):
        if "--eval" in call.full_text and _SCRIPT_CALL.search(text):
            scripts.append(text)
        else:
            lines += text.splitlines()
    commands = [line.lower().replace('"', "").replace("'", "").split() for line in dict.fromkeys(lines)]
    for text in (*scripts, *(line for line in lines if "call(" in line)):
        names = [name.lower() for name in _SCRIPT_CALL.findall(text)]
        listed = [EVERY_KEY] if any(name in _LISTING_CALLS for name in names) else []
        commands += [[name, *listed] for name in names if name not in _LISTING_CALLS]
    return [command for command in commands if command]
