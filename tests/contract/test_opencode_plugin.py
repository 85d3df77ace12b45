"""The plugin for OpenCode, run by node as OpenCode runs it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.test_adapters import load
from verdikt import hosts
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.opencode import adapter

NODE = shutil.which("node") or "node"
SOURCE = Path(hosts.__file__).parent


def plugin(directory: Path, hook: list[str], *, guard: str = "") -> Path:
    """Write the plugin as `verdikt init` does, in front of this hook."""
    text = (SOURCE / "opencode" / "plugin.js").read_text()
    text = text.replace('["verdikt-guard"]', json.dumps([guard or str(SOURCE / "guard.sh"), "5"]))
    file = directory / "verdikt.js"
    file.write_text(text.replace('["verdikt-hook"]', json.dumps(hook)))
    return file


def fire(file: Path) -> "subprocess.CompletedProcess[str]":
    """Send a recorded call through the plugin."""
    payload = json.dumps(load("opencode/tool.execute.before")["payload"] | {"directory": str(file.parent)})
    command = [NODE, str(SOURCE / "opencode" / "canary.mjs"), str(file)]
    env = {"PATH": os.environ["PATH"], "HOME": str(file.parent), "VERDIKT_DAEMON": "off"}
    return subprocess.run(command, input=payload, capture_output=True, text=True, env=env, timeout=60, check=False)


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (["sh", "-c", """echo '{"decision":"block","reason":"no"}'; echo no >&2; exit 2"""], "no"),
        (["sh", "-c", "exit 1"], "did not work: it failed with status 1"),
        (["sh", "-c", "echo fine"], "did not answer with one decision"),
        (["/nonexistent"], "could not be started"),
    ],
)
def test_what_is_blocked_is_thrown(tmp_path: Path, hook: list[str], reason: str) -> None:
    """OpenCode does not run a tool whose plugin throws, and shows the model the message."""
    said = fire(plugin(tmp_path, hook))

    assert said.returncode == 2
    assert reason in json.loads(said.stdout)["reason"]


def test_a_missing_wrapper_is_thrown(tmp_path: Path) -> None:
    """Whoever deletes the wrapper has not switched anything off."""
    assert "could not be started" in fire(plugin(tmp_path, ["true"], guard=str(tmp_path / "gone"))).stdout


def test_what_is_allowed_is_not(tmp_path: Path) -> None:
    """No opinion lets the call go on."""
    said = fire(plugin(tmp_path, ["sh", "-c", "echo '{}'"]))

    assert (said.returncode, set(json.loads(said.stdout))) == (0, {"milliseconds"})


def test_a_plugin_that_cannot_be_loaded_shows(tmp_path: Path) -> None:
    """OpenCode skips it in silence; `verdikt doctor` does not."""
    file = plugin(tmp_path, ["sh", "-c", "echo '{}'"])
    file.write_text(file.read_text() + "\n}")

    assert "the plugin did not work" in fire(file).stdout


def test_the_python_entry_answers_the_plugin(tmp_path: Path) -> None:
    """As it is wired, here with a home in which nothing can be written."""
    said = fire(plugin(tmp_path, [sys.executable, "-I", "-m", "verdikt.hosts.hook", "opencode"]))

    assert json.loads(said.stdout).get("decision", "block") == "block"


def test_a_session_that_begins_is_known(tmp_path: Path) -> None:
    """What it is measured by at its stop is remembered at its start."""
    payload = {"ev": "session.created", "properties": {"sessionID": "s1"}, "directory": str(tmp_path)}
    moment = adapter.decode(payload, "session.created")

    assert (moment.kind, moment.session_id, moment.cwd) == (HookEventKind.START, "s1", str(tmp_path))
    assert '"session.created"' in (SOURCE / "opencode" / "plugin.js").read_text()
