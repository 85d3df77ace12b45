"""`verdikt-hook` in Python, for installations without a C compiler: the same command line, the same answers, more time."""

import os
import sys
from pathlib import Path
from typing import NoReturn

_NEEDED = b"[verdikt] blocked, because the hook that decides did not work: --socket needs the native client"


def main() -> NoReturn:
    """Becomes the wrapper when it is called as one, and the hook otherwise."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--socket"]:
        os.write(2, _NEEDED + b"\n")
        advice = rb"\nInstead: install verdikt where there is a C compiler"
        os.write(1, b'{"decision":"block","reason":"' + _NEEDED + advice + b'"}\n')
        os._exit(2)
    if not arguments or arguments[0][:1].isdigit():
        from verdikt import adapters

        guard = str(Path(adapters.__file__).with_name("guard.sh"))
        os.execv("/bin/sh", ["sh", guard, *arguments])
    from verdikt.adapters.entry import main as hook

    hook(arguments)
