"""The wrappers that clients call, as this version ships them: the native client, if it was built, and a script."""

from functools import lru_cache
from importlib.metadata import distributions
from pathlib import Path

from verdikt import hosts
from verdikt.hosts.wiring.registration import NATIVE_WRAPPER, SCRIPT_WRAPPER
from verdikt.model.distribution import DISTRIBUTION_NAME

_EXECUTABLE_MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""How a program begins on Linux and on macOS. Without a compiler the file of that name is a Python script."""


def load_wrappers() -> dict[str, bytes]:
    """Return name → content, the one to register first. Both are installed, because older wirings name the script."""
    program = load_native_client()
    script = {SCRIPT_WRAPPER: Path(hosts.__file__).with_name(SCRIPT_WRAPPER).read_bytes()}
    # The native client needs the script beside it: it becomes the script when no warm process answers.
    return {NATIVE_WRAPPER: program, **script} if program else script


@lru_cache(maxsize=1)
def load_native_client() -> bytes:
    """Return the native client that was installed with the package; empty when there is none."""
    for distribution in distributions(name=DISTRIBUTION_NAME):
        for file in distribution.files or ():
            path = Path(str(file.locate()))
            if (
                path.name == NATIVE_WRAPPER
                and path.is_file()
                and (data := path.read_bytes()).startswith(_EXECUTABLE_MAGIC)
            ):
                return data
    return b""
