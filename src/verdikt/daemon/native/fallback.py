"""`verdikt-hook` in Python, for installations without a C compiler: the same command line, the same answers, more time."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from verdikt import hosts
from verdikt.hosts.hook import main as hook

_HOOK_MODULE = "verdikt.hosts.hook"


def main() -> NoReturn:
    """Becomes the wrapper when it is called as one, and the hook otherwise; the hook itself asks behind a given socket."""
    arguments = sys.argv[1:]
    socket, rest = (arguments[:2], arguments[2:]) if arguments[:1] == ["--socket"] else ([], arguments)
    if not rest or rest[0][:1].isdigit():
        end = next((at + 1 for at, word in enumerate(rest) if word == _HOOK_MODULE), len(rest))
        guard = str(Path(hosts.__file__).with_name("guard.sh"))
        os.execv("/bin/sh", ["sh", guard, *rest[:end], *socket, *rest[end:]])

    hook([*socket, *rest])
