"""Fetch the dependencies of the pages from npm: `python -m tools.fetch_web` (`make web`).

`src/verdikt/web/vendor.lock.json` names each package with its version and the digest of its archive, and each file with
the digest of what is written. Another digest is an error, and nothing is written then.
"""

import base64
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

WEB = Path(__file__).parent.parent / "src" / "verdikt" / "web"
LOCK = WEB / "vendor.lock.json"
TARGET = WEB / "static" / "vendor"


class FetchError(Exception):
    """A package that could not be fetched, or is not the one in the lock file."""


def is_complete() -> bool:
    """Return whether every file is there with its digest."""
    return all(
        (TARGET / name).is_file() and _digest((TARGET / name).read_bytes()) == file["sha256"]
        for package in json.loads(LOCK.read_text()).values()
        for name, file in package["files"].items()
    )


def fetch() -> None:
    """Write every file of the lock file."""
    files: dict[str, bytes] = {}
    for name, package in json.loads(LOCK.read_text()).items():
        archive = download(f"{name}@{package['version']}")
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
        if integrity != package["integrity"]:
            raise FetchError(f"{name}: expected the archive {package['integrity']}, found {integrity}")
        files |= extract_files(archive, package["files"])
    TARGET.mkdir(exist_ok=True)
    for filename, data in files.items():
        (TARGET / filename).write_bytes(data)


def download(package: str) -> bytes:
    """Return the archive of a package, by npm and from the registry that npm is configured for."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            subprocess.run(
                ["npm", "pack", "--silent", "--fetch-retries=1", package],
                cwd=directory,
                check=True,
                capture_output=True,
                timeout=60,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise FetchError(f"{package}: `npm pack` failed: {error}; is npm installed?") from error
        return next(Path(directory).glob("*.tgz")).read_bytes()


def extract_files(archive: bytes, files: dict[str, dict[str, Any]]) -> dict[str, bytes]:
    """Return the files of an archive under the names of the lock file, with their imports made relative."""
    extracted = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for filename, file in files.items():
            member = tar.extractfile(f"package/{file['from']}")
            assert member is not None
            # Browsers resolve no bare names, and an import map would be an inline script.
            data = member.read().replace(b'from"preact"', b'from"./preact.mjs"')
            if _digest(data) != file["sha256"]:
                raise FetchError(f"{filename}: expected sha256 {file['sha256']}, found {_digest(data)}")
            extracted[filename] = data
    return extracted


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> int:
    """Fetch what is missing; the exit status is 1 when that fails."""
    if is_complete():
        return 0
    try:
        fetch()
    except FetchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
