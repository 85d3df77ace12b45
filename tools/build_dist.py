"""Build what a release uploads: `python -m tools.build_dist [DIRECTORY]`, `dist/` by default.

Three files: the source distribution, a wheel without the native client for every platform, and on Linux a wheel with
it. That one is tagged manylinux, which an index accepts, and may be: the client is linked statically, so it needs no C
library at all.
"""

import os
import platform
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

from tools import fetch_web

ROOT = Path(__file__).parent.parent
MANYLINUX = "manylinux_2_17"  # the oldest that current installers ask for; a static program runs on older systems too
PT_INTERP = 3
NO_COMPILER = {"CC": "/nonexistent"}


def build(kind: str, directory: Path, *options: str, **env: str) -> None:
    """Run the standard build front end for one kind of distribution."""
    command = [sys.executable, "-m", "build", f"--{kind}", "--outdir", str(directory), *options, str(ROOT)]
    # What an earlier build left would end up in this one: a wheel with a client where none should be.
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    subprocess.run(command, env={**os.environ, **env}, check=True, stdout=subprocess.DEVNULL)


def read_native_client(wheel: Path) -> bytes:
    """Return the native client that a wheel installs; empty when it installs the script in its place."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".data/scripts/verdikt-hook")]
        data = archive.read(name)
    return data if data.startswith(b"\x7fELF") else b""


def is_static(program: bytes) -> bool:
    """Tell whether a 64-bit ELF program asks for no dynamic loader: it has no program header of the type PT_INTERP."""
    order = "<" if program[5] == 1 else ">"
    (offset,) = struct.unpack_from(f"{order}Q", program, 0x20)
    size, count = struct.unpack_from(f"{order}HH", program, 0x36)
    types = [struct.unpack_from(f"{order}I", program, offset + number * size)[0] for number in range(count)]
    return PT_INTERP not in types


def main() -> None:
    """Build the distributions, check them, and print their names."""
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    shutil.rmtree(directory, ignore_errors=True)
    # A release without its pages would only be noticed by its users.
    if not fetch_web.is_complete():
        fetch_web.fetch()
    build("sdist", directory)
    build("wheel", directory, **NO_COMPILER)
    if sys.platform == "linux":
        tag = f"{MANYLINUX}_{platform.machine()}"
        build("wheel", directory, f"-C--build-option=--plat-name={tag}")
        (native,) = directory.glob(f"*{tag}.whl")
        if not is_static(read_native_client(native)):
            sys.exit(f"{native.name}: expected a statically linked client, which the manylinux tag promises")
    files = sorted(map(str, directory.iterdir()))
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    print("\n".join(files))


if __name__ == "__main__":
    main()
