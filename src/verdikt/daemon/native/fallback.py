"""`verdikt-hook` in Python, for installations without a C compiler: same command line and decisions, but slower."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from verdikt import hosts
from verdikt.hosts.hook import main as run_hook

_HOOK_MODULE = "verdikt.hosts.hook"


def main() -> NoReturn:
    """Become `guard.sh` when called with its arguments (SECONDS first), and the hook otherwise."""
    arguments = sys.argv[1:]
    socket_option: list[str] = []
    if arguments[:1] == ["--socket"]:
        socket_option, arguments = arguments[:2], arguments[2:]
    if not arguments or arguments[0][:1].isdigit():
        # `guard.sh` does not know --socket; the hook does, so it goes behind the name of its module.
        end = arguments.index(_HOOK_MODULE) + 1 if _HOOK_MODULE in arguments else len(arguments)
        guard = str(Path(hosts.__file__).with_name("guard.sh"))
        os.execv("/bin/sh", ["sh", guard, *arguments[:end], *socket_option, *arguments[end:]])
    run_hook([*socket_option, *arguments])
