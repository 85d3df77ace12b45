"""How the native client is compiled: used by `setup.py` when the package is installed, and by tests and benchmarks.

Loaded by its path, before the package can be imported, so it imports nothing of it.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SOURCE = Path(__file__).with_name("verdikt-hook.c")

WARNINGS = """
    -std=c11 -Wall -Wextra -Werror -Wconversion -Wsign-conversion -Wshadow -Wpointer-arith -Wstrict-prototypes
    -Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wnull-dereference
""".split()

SANITIZERS = "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer".split()

HARD = "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong".split()
_INTEL = ["-fcf-protection"]
_LINUX = "-Wl,-z,relro,-z,now,-z,noexecstack -s".split()

# Without a dynamic linker a process starts in less time than with one, so that is tried first; not every system has what it needs.
WAYS = {
    "linux": (
        ["-fPIE", "-static-pie", *_LINUX, *_INTEL],
        ["-fPIE", "-static-pie", *_LINUX],
        ["-static", *_LINUX],
        ["-fPIE", "-pie", *_LINUX],
    ),
    "darwin": (["-fPIE"],),
}


def compiler(env: Mapping[str, str] = os.environ) -> list[str]:
    """The C compiler's command, `$CC` if that is set; empty when there is none."""
    wanted = shlex.split(env.get("CC", ""))
    for command in [wanted] if wanted else [["cc"], ["gcc"], ["clang"]]:
        if found := shutil.which(command[0], path=env.get("PATH")):
            return [found, *command[1:]]
    return []


def compile_client(target: Path, version: str, env: Mapping[str, str] = os.environ) -> str:
    """Compiles the client to the target, with warnings as errors and hardened; why not, when it cannot be."""
    command = compiler(env)
    if not command:
        return "no C compiler was found"
    why = f"not known how to build on {sys.platform}"
    ways = WAYS.get(sys.platform, ())
    # A warning that a compiler of next year has is for whoever works on this, not for whoever installs it: tried last.
    for way in (*ways, *([*way, "-Wno-error"] for way in ways)):
        why = build(target, version, [*HARD, *way], command)
        if not why and _starts(target):
            return ""
        why = why or "what was built does not start"
    target.unlink(missing_ok=True)
    return why


def build(target: Path, version: str, flags: Sequence[str], command: Sequence[str] = (), source: Path = SOURCE) -> str:
    """One run of the compiler; what it complained about."""
    define = f'-DVERDIKT_VERSION="{version}"'
    line = [*(command or compiler()), *WARNINGS, define, *flags, "-o", str(target), str(source)]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        return str(error)
    return (done.stderr.strip() or f"status {done.returncode}") if done.returncode else ""


def _starts(target: Path) -> bool:
    """Whether it runs here: called without a hook, it blocks."""
    try:
        done = subprocess.run([str(target)], input=b"{}", capture_output=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 2 and done.stdout.startswith(b'{"decision":"block"')
