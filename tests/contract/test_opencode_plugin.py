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


def write_plugin(directory: Path, hook: list[str], *, guard: str = "") -> Path:
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
def test_a_block_or_a_failure_makes_the_plugin_throw(tmp_path: Path, hook: list[str], reason: str) -> None:
    """OpenCode does not run a tool whose plugin throws, and shows the model the message."""
    completed = fire(write_plugin(tmp_path, hook))

    assert completed.returncode == 2
    assert reason in json.loads(completed.stdout)["reason"]


def test_a_missing_wrapper_makes_the_plugin_throw(tmp_path: Path) -> None:
    """Deleting the wrapper does not switch governance off."""
    assert "could not be started" in fire(write_plugin(tmp_path, ["true"], guard=str(tmp_path / "gone"))).stdout


def test_no_opinion_lets_the_call_go_on(tmp_path: Path) -> None:
    """The plugin returns without throwing."""
    completed = fire(write_plugin(tmp_path, ["sh", "-c", "echo '{}'"]))

    assert (completed.returncode, set(json.loads(completed.stdout))) == (0, {"milliseconds"})


def test_a_plugin_that_cannot_be_loaded_is_reported_by_the_canary(tmp_path: Path) -> None:
    """OpenCode itself skips such a plugin in silence."""
    file = write_plugin(tmp_path, ["sh", "-c", "echo '{}'"])
    file.write_text(file.read_text() + "\n}")

    assert "the plugin did not work" in fire(file).stdout


def test_the_python_hook_answers_the_plugin(tmp_path: Path) -> None:
    """The hook is called as it is wired."""
    completed = fire(write_plugin(tmp_path, [sys.executable, "-I", "-m", "verdikt.hosts.hook", "opencode"]))

    assert json.loads(completed.stdout).get("decision", "block") == "block"


STOP = """
const { Verdikt } = await import(process.argv[1])
const calls = []
const record = (name) => async (options) => { calls.push([name, options.body]); throw new Error("no terminal") }
const client = {
  tui: { showToast: record("toast") },
  app: { log: record("log") },
  session: { prompt: async (options) => calls.push(["prompt", options]) },
}
const plugin = await Verdikt({ directory: ".", client })
await plugin.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
await (await Verdikt({ directory: "." })).event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
console.log(JSON.stringify(calls))
"""


@pytest.mark.parametrize(
    ("response", "channels"),
    [
        ('{"context":"[verdikt] this turn ended unproven"}', ["toast", "log"]),
        ("{}", []),
    ],
)
def test_notice_about_a_stop_is_shown_to_the_person(tmp_path: Path, response: str, channels: list[str]) -> None:
    """A turn that ended unproven is shown as a toast and logged; a client without either is no failure."""
    file = write_plugin(tmp_path, ["sh", "-c", f"echo '{response}'"])
    command = [NODE, "--input-type=module", "-e", STOP, str(file)]

    completed = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)

    calls = json.loads(completed.stdout)
    assert [name for name, _ in calls] == channels
    assert all("ended unproven" in body["message"] for _, body in calls)


def test_the_creation_of_a_session_is_decoded_as_its_start(tmp_path: Path) -> None:
    """The baseline of the session is recorded at this event."""
    payload = {"ev": "session.created", "properties": {"sessionID": "s1"}, "directory": str(tmp_path)}
    hook_event = adapter.decode(payload, "session.created")

    assert (hook_event.kind, hook_event.session_id, hook_event.cwd) == (HookEventKind.START, "s1", str(tmp_path))
    assert '"session.created"' in (SOURCE / "opencode" / "plugin.js").read_text()
