"""What programs do, one module per family; see `table.py` for the form. Families are loaded when one of their programs is met."""

from functools import cache
from importlib import import_module

from verdikt.effects.program.table import Program

FAMILIES: dict[str, str] = {
    "coreutils": "rm rmdir unlink shred cp mv ln install touch mkdir mkfifo mknod chmod chown chgrp cat tac nl head tail ls dir vdir tee truncate split csplit dd",
    "archive": "tar bsdtar gtar zip unzip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 lzma 7z 7za 7zr rar unrar cpio ar pax zcat bzcat xzcat zstdcat",
}
"""Module → the programs that it knows."""

_HOME = {program: family for family, names in FAMILIES.items() for program in names.split()}


@cache
def lookup(name: str) -> Program | None:
    """What is known about a program of this name (without its directory)."""
    family = _HOME.get(name)
    if family is None:
        lowered = name.lower().removesuffix(".exe")
        return lookup(lowered) if lowered != name else None
    found: Program = import_module(f"verdikt.effects.program.{family}").PROGRAMS[name]
    return found
