"""The Dockerfile without Docker: its steps run below a directory, and its entry point serves a hook.

What a container adds (another user, other mounts) is not covered here; `test_daemon_system.py` has another
user for the service.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.contract.warm import bash
from tests.wheelhouse import ROOT
from verdikt.hosts.wiring.system_unit import UNIT


def read_instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, with continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_dockerfile_has_the_user_and_the_command_of_the_service() -> None:
    """The image runs as its own user, and starts what the systemd unit starts."""
    instructions = read_instructions()
    words = [word for word, _ in instructions]
    command = json.loads(instructions[-1][1])

    assert words[0] == "FROM"
    assert words[-1] == "ENTRYPOINT"
    assert ("USER", "verdikt") in instructions
    unit = UNIT.format(user="verdikt", runtime="/opt/verdikt", socket="/run/verdikt/daemon.sock")
    assert f"ExecStart={' '.join(command)}\n" in unit
    assert set(words) <= {"FROM", "RUN", "COPY", "USER", "VOLUME", "ENTRYPOINT"}


def test_steps_of_the_dockerfile_install_a_service_that_decides(
    hook_repository: tuple[Path, str, Path], tmp_path: Path
) -> None:
    """Each step runs as written, below a directory and without the change of user, which needs root."""
    repository, _, wheels = hook_repository
    shutil.copytree(repository, tmp_path / "src")
    env = {
        "HOME": str(tmp_path),
        "PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
    }

    def move(text: str) -> str:
        return re.sub(r"(?<![\w.])/(opt/verdikt|src|var/lib/verdikt|run/verdikt)\b", rf"{tmp_path}/\1", text)

    for word, rest in read_instructions():
        if word == "RUN" and not rest.startswith("useradd"):
            line = move(rest.replace("-o verdikt ", ""))
            subprocess.run(["/bin/sh", "-ec", line], env=env, check=True, capture_output=True, timeout=300)
        if word == "ENTRYPOINT":
            command = [move(argument) for argument in json.loads(rest)]
    assert not (tmp_path / "src").exists()

    with subprocess.Popen(command, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}) as service:
        try:
            socket = tmp_path / "run/verdikt/daemon.sock"
            for _ in range(600):
                if socket.exists():
                    break
                time.sleep(0.05)
            hook = [str(tmp_path / "opt/verdikt/bin/python"), "-I", "-m", "verdikt.hosts.hook"]
            arguments = ["--socket", str(socket), "claude", "PreToolUse"]
            completed = subprocess.run(
                [*hook, *arguments], input=bash("rm -rf /"), env=env, cwd=tmp_path, capture_output=True, check=False
            )
        finally:
            service.kill()

    assert completed.returncode == 2, completed.stderr
    assert json.loads(completed.stdout)["decision"] == "block"
    assert list((tmp_path / "var/lib/verdikt/users").iterdir()), "the service has recorded it"
