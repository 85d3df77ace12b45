"""Files that are replaced in one step."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import get_ident

import pytest

from verdikt.observe.atomic_file import DRAFT_SUFFIX, write_atomically


def test_write_atomically_replaces_content_and_mode(tmp_path: Path) -> None:
    """The file has the new content and the mode that was asked for, and no draft is left."""
    path = tmp_path / "file"
    path.write_bytes(b"a longer old content")
    path.chmod(0o644)

    write_atomically(path, b"new")

    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_write_atomically_without_mode_obeys_the_umask(tmp_path: Path) -> None:
    """Without a mode the file gets what the process gives to new files."""
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", b"", mode=None)
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.mark.parametrize("step", ["fsync", "fchmod", "replace"])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_write_atomically_that_fails_at_any_step_leaves_the_file_as_it_was(
    step: str, fault: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old bytes stay, no draft remains, and the failure is raised."""
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def fail(*arguments: object) -> None:
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises(type(fault)):
            write_atomically(path, b"after")

    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == [("file", b"before")]


def test_write_atomically_when_a_link_stands_where_the_draft_goes_writes_a_file_of_its_own(tmp_path: Path) -> None:
    """A link that was put at the draft's place does not lead the content to another file."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / f".file.{os.getpid()}-{get_ident()}{DRAFT_SUFFIX}").hardlink_to(victim)

    write_atomically(tmp_path / "file", b"new")

    assert victim.read_bytes() == b"mine"
    assert (tmp_path / "file").read_bytes() == b"new"


def test_write_atomically_by_many_at_once_always_leaves_a_whole_file(tmp_path: Path) -> None:
    """Writers of the same file do not share a draft: none fails, and the file is that of one of them."""
    path = tmp_path / "file"
    contents = [bytes([65 + number]) * 50_000 for number in range(8)]
    write_atomically(path, contents[0])

    def write_and_read(content: bytes) -> bytes:
        write_atomically(path, content)
        return path.read_bytes()

    with ThreadPoolExecutor(len(contents)) as pool:
        seen = list(pool.map(write_and_read, contents * 4))

    assert set(seen) <= set(contents)
