"""A place is a path in every way that matters, and loads `pathlib` only when it must."""

import os
import subprocess
import sys
from pathlib import Path

from verdikt.ledger.path import DataPath


def test_a_place_is_a_path(tmp_path: Path) -> None:
    """It is equal to one, joins, and does what one does."""
    place = DataPath(tmp_path)

    assert place == tmp_path == place
    assert hash(place) == hash(tmp_path)
    assert (str(place), os.fspath(place), f"{place}", repr(place)) == (*[str(tmp_path)] * 3, repr(tmp_path))
    (place / "a" / "b").mkdir(parents=True)
    (place / "a/b" / "c.txt").write_text("x")
    assert (tmp_path / "a/b/c.txt").read_text() == "x"
    assert (place / "a" / "b").parent == tmp_path / "a"
    assert (place / "a/b").name == "b"
    assert (place / "a").exists() and not (place / "z").exists()
    assert sorted([place / "b", place / "a"]) == [tmp_path / "a", tmp_path / "b"]
    assert place / "/etc" == Path("/etc")
    assert place != str(tmp_path)


def test_it_loads_nothing_before_it_must() -> None:
    """Joining, showing and opening need no library."""
    program = (
        "import sys; from verdikt.ledger.path import DataPath\n"
        "place = DataPath('/tmp') / 'x'; str(place), place.name, place.parent.exists(), open('/dev/null').close()\n"
        "assert 'pathlib' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", "import sys; sys.path.append(sys.argv[1])\n" + program, str(Path(__file__).parents[3] / "src")], capture_output=True, text=True, check=False)  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
