"""Find the files of the pages in the installed package."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from verdikt.errors import ServiceError

ROOT = Path(__file__).parent / "static"

MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".html": "text/html; charset=utf-8",
}

VENDOR_FILES = ("preact.mjs", "hooks.mjs", "htm.mjs", "uPlot.js", "uPlot.css")
"""Dependencies of the pages, which `make web` fetches and a wheel contains."""


def read_shell() -> bytes:
    """Return the page that all addresses share; it has no data in it."""
    return (ROOT / "index.html").read_bytes()


def find_file(name: str) -> tuple[bytes, str, str] | None:
    """Return content, media type and entity tag of a file; None when there is none of this name."""
    path = _list_files().get(name)
    if path is None:
        return None
    status = path.stat()
    return path.read_bytes(), MEDIA_TYPES[path.suffix], f'"{status.st_mtime_ns:x}-{status.st_size:x}"'


@lru_cache(maxsize=1)
def _list_files() -> dict[str, Path]:
    """Return the files by name. A table, so that no name can lead out of the directory."""
    return {
        path.relative_to(ROOT).as_posix(): path
        for path in ROOT.rglob("*")
        if path.is_file() and path.suffix in MEDIA_TYPES
    }


def check_vendor_files() -> None:
    """Raise `ServiceError` when the dependencies of the pages were not fetched."""
    missing = [name for name in VENDOR_FILES if not (ROOT / "vendor" / name).exists()]
    if missing:
        raise ServiceError(f"the pages lack {', '.join(missing)}: run `make web` in the source tree")
