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

WARNING_FLAGS = """
    -std=c11 -Wall -Wextra -Werror -Wconversion -Wsign-conversion -Wshadow -Wpointer-arith -Wstrict-prototypes
    -Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wnull-dereference
""".split()

SANITIZER_FLAGS = "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer".split()

HARDENING_FLAGS = "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong".split()
_INTEL_FLAGS = ["-fcf-protection"]
_LINUX_LINK_FLAGS = "-Wl,-z,relro,-z,now,-z,noexecstack -s".split()

# Without a dynamic linker a process starts in less time than with one, so that is tried first; not every system has what it needs.
LINK_VARIANTS = {
    "linux": (
        ["-fPIE", "-static-pie", *_LINUX_LINK_FLAGS, *_INTEL_FLAGS],
        ["-fPIE", "-static-pie", *_LINUX_LINK_FLAGS],
        ["-static", *_LINUX_LINK_FLAGS],
        ["-fPIE", "-pie", *_LINUX_LINK_FLAGS],
    ),
    "darwin": (["-fPIE"],),
}


def find_compiler(env: Mapping[str, str] = os.environ) -> list[str]:
    """The C compiler's command, `$CC` if that is set; empty when there is none."""
    wanted = shlex.split(env.get("CC", ""))
    for command in [wanted] if wanted else [["cc"], ["gcc"], ["clang"]]:
        if found := shutil.which(command[0], path=env.get("PATH")):
            return [found, *command[1:]]
    return []


def compile_client(target: Path, version: str, env: Mapping[str, str] = os.environ) -> str:
    """Compiles the client to the target, with warnings as errors and hardened; why not, when it cannot be."""
    command = find_compiler(env)
    if not command:
        return "no C compiler was found"
    why = f"not known how to build on {sys.platform}"
    ways = LINK_VARIANTS.get(sys.platform, ())
    # A warning that a compiler of next year has is for whoever works on this, not for whoever installs it: tried last.
    for way in (*ways, *([*way, "-Wno-error"] for way in ways)):
        why = run_compiler(target, version, [*HARDENING_FLAGS, *way], command)
        if not why and _can_start(target):
            return ""
        why = why or "what was built does not start"
    target.unlink(missing_ok=True)
    return why


def run_compiler(
    target: Path, version: str, flags: Sequence[str], command: Sequence[str] = (), source: Path = SOURCE
) -> str:
    """One run of the compiler; what it complained about."""
    define = f'-DVERDIKT_VERSION="{version}"'
    line = [*(command or find_compiler()), *WARNING_FLAGS, define, *flags, "-o", str(target), str(source)]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        return str(error)
    return (done.stderr.strip() or f"status {done.returncode}") if done.returncode else ""


def _can_start(target: Path) -> bool:
    """Whether it runs here: called without a hook, it blocks."""
    try:
        done = subprocess.run([str(target)], input=b"{}", capture_output=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 2 and done.stdout.startswith(b'{"decision":"block"')
