"""`verdikt demo`."""

import os
import pty
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-m", "verdikt", "demo"]


def test_demo_in_a_pipe_is_plain_and_short(tmp_path: Path) -> None:
    """A pipe gets every scene without colours, on at most 56 lines, and no file is left."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    completed_process = subprocess.run(COMMAND, capture_output=True, text=True, env=env, cwd=tmp_path, check=False)
    lines = completed_process.stdout.splitlines()

    assert (completed_process.returncode, completed_process.stderr) == (0, "")
    assert "\x1b" not in completed_process.stdout
    assert len(lines) <= 56
    assert max(map(len, lines)) <= 120
    for word, times in {"pass": 3, "block": 5, "ask": 1, "→": 6, "told": 1}.items():
        assert sum(line.split()[0] == word for line in lines if line.strip()) == times, completed_process.stdout
    assert "`src/auth/handler.py` is a red line" in completed_process.stdout
    assert (
        "refused You said “The login is fixed and all tests pass”; nothing you ran in this turn shows it."
        in completed_process.stdout
    )
    assert "prove it: pytest -q" in completed_process.stdout
    assert "Tool 'git push' requires: pytest" in completed_process.stdout
    assert "council `ship-it` stops this: the level is HIGH" in completed_process.stdout
    assert "verified" in lines[-2]
    assert lines[-1].endswith("8 decisions replayed from the log: the same bytes")
    assert list(tmp_path.iterdir()) == []


def test_demo_on_a_terminal_is_coloured() -> None:
    """A terminal gets colours."""
    master, slave = pty.openpty()
    with subprocess.Popen(COMMAND, stdout=slave, stdin=slave) as process:
        os.close(slave)
        output = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            output += chunk
    os.close(master)

    assert process.returncode == 0
    assert b"\x1b[31m\x1b[1mblock" in output


def test_short_demo_fits_on_one_screen() -> None:
    """It shows a pass, a block, an ask, a refused stop and the verified log."""
    output = subprocess.run([*COMMAND, "--short"], capture_output=True, text=True, check=True).stdout
    words = {line.split()[0] for line in output.splitlines() if line.strip()}

    assert {"pass", "block", "ask", "refused", "log", "replay"} <= words
    assert len(output.splitlines()) <= 40
    assert "Tool 'git push' requires" not in output
