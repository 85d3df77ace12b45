"""Compiles the native client, for `setup.py`, tests and benchmarks.

`setup.py` loads this file by its path, before the package can be imported, so it imports nothing of the package.
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

# A program without a dynamic linker starts faster, so that is tried first; not every system has the static C library.
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
    """Return the command of the C compiler, `$CC` if that is set; empty when there is none."""
    requested_command = shlex.split(env.get("CC", ""))
    for command in [requested_command] if requested_command else [["cc"], ["gcc"], ["clang"]]:
        if path := shutil.which(command[0], path=env.get("PATH")):
            return [path, *command[1:]]
    return []


def compile_client(target: Path, version: str, env: Mapping[str, str] = os.environ) -> str:
    """Compile the hardened client to `target`; return why that is not possible, or an empty string."""
    command = find_compiler(env)
    if not command:
        return "no C compiler was found"
    reason = f"not known how to build on {sys.platform}"
    variants = LINK_VARIANTS.get(sys.platform, ())
    # Warnings are errors for those who work on the source, but a newer compiler's must not fail an installation.
    for flags in (*variants, *([*flags, "-Wno-error"] for flags in variants)):
        reason = run_compiler(target, version, [*HARDENING_FLAGS, *flags], command)
        if not reason and _can_start(target):
            return ""
        reason = reason or "what was built does not start"
    target.unlink(missing_ok=True)
    return reason


def run_compiler(
    target: Path, version: str, flags: Sequence[str], command: Sequence[str] = (), source: Path = SOURCE
) -> str:
    """Run the compiler once and return its error message; empty when there is none."""
    version_define = f'-DVERDIKT_VERSION="{version}"'
    arguments = [*(command or find_compiler()), *WARNING_FLAGS, version_define, *flags, "-o", str(target), str(source)]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        completed_process = subprocess.run(arguments, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        return str(error)
    if completed_process.returncode == 0:
        return ""
    return completed_process.stderr.strip() or f"status {completed_process.returncode}"


def _can_start(target: Path) -> bool:
    """Return whether the program runs on this machine: called without arguments it must block."""
    try:
        completed_process = subprocess.run([str(target)], input=b"{}", capture_output=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return completed_process.returncode == 2 and completed_process.stdout.startswith(b'{"decision":"block"')
