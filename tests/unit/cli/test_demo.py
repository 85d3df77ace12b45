"""`verdikt demo`: readable in one screenful, plain when piped, and true."""

import os
import pty
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-m", "verdikt", "demo"]


def test_piped_it_is_plain_and_fits_a_screen(tmp_path: Path) -> None:
    """A pass, blocks with reason and fix, an ask, feedback, a refused done, a verified log, a replay; nothing is left."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=env, cwd=tmp_path, check=False)
    lines = done.stdout.splitlines()

    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 120
    for word, times in {"pass": 2, "block": 3, "ask": 1, "→": 5, "told": 1}.items():
        assert sum(line.split()[0] == word for line in lines if line.strip()) == times, done.stdout
    assert "`src/auth/handler.py` is a red line" in done.stdout
    assert "refused this turn claims what its log does not prove" in done.stdout
    assert "prove it: pytest -q" in done.stdout
    assert "verified" in lines[-2]
    assert lines[-1].endswith("6 decisions replayed from the log: the same bytes")
    assert list(tmp_path.iterdir()) == []


def test_on_a_terminal_it_is_coloured() -> None:
    """Colour for people."""
    master, slave = pty.openpty()
    with subprocess.Popen(COMMAND, stdout=slave, stdin=slave) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            shown += chunk
    os.close(master)

    assert process.returncode == 0
    assert b"\x1b[31m\x1b[1mblock" in shown
