"""Turns that are really executed: a project on disk, edits, commands in a shell, a final message, through a host."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.case_files import CASE_FILES, load_yaml
from tests.cleanup import close_after_test
from verdikt.govern import Governance
from verdikt.hosts.dispatch import dispatch_event
from verdikt.hosts.generic import adapter
from verdikt.hosts.hook_response import HookResponse
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.entry import EntryKind
from verdikt.observe.clock import Clock, SystemClock
from verdikt.policy import parse_policy

PROJECTS: Mapping[str, Any] = load_yaml(CASE_FILES / "turn_projects.yaml")

ROOT = Path(__file__).parent.parent


def load_turns() -> list[dict[str, Any]]:
    """Return every scripted turn, with its name and the file it comes from."""
    turns = []
    for path in sorted(CASE_FILES.glob("turns_*.yaml")):
        turns += [{**case, "file": path.stem} for case in load_yaml(path)]
    return turns


def build_turn_env(home: Path) -> dict[str, str]:
    """Return the environment of a turn: the tools of this environment, and nothing of the user who runs the tests."""
    tools = [str(ROOT / ".venv" / "bin"), os.path.dirname(sys.executable)]
    user_home = os.path.expanduser("~")
    return {
        "PATH": os.pathsep.join([*tools, os.environ["PATH"]]),
        "HOME": str(home),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", f"{user_home}/.rustup"),
        "CARGO_HOME": os.environ.get("CARGO_HOME", f"{user_home}/.cargo"),
        # With a cache of its own, each turn would compile the standard library.
        "GOCACHE": os.environ.get("GOCACHE", f"{user_home}/.cache/go-build"),
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CARGO_NET_OFFLINE": "true",
        "npm_config_update_notifier": "false",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "n",
        "GIT_AUTHOR_EMAIL": "n@example.com",
        "GIT_COMMITTER_NAME": "n",
        "GIT_COMMITTER_EMAIL": "n@example.com",
    }


def write_files(directory: Path, files: Mapping[str, str]) -> None:
    """Write the files of a project."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


_REPLACE = (
    "import sys; path, old, new = sys.argv[1:]; text = open(path).read(); open(path, 'w').write(text.replace(old, new))"
)


def list_commands(step: Mapping[str, Any]) -> list[str]:
    """Return the shell commands that execute one step of a turn."""
    ((action, value),) = step.items()
    if action == "run":
        return [value]
    if action == "read":
        return [f"cat {shlex.quote(value)}"]
    if action == "replace":
        return [f"python3 -c {shlex.quote(_REPLACE)} {' '.join(map(shlex.quote, value))}"]
    assert action == "edit"
    return [
        f"mkdir -p $(dirname {shlex.quote(name)}) && printf %s {shlex.quote(text)} > {shlex.quote(name)}"
        for name, text in value.items()
    ]


class TurnPlayer:
    """One session in one project, seen by governance through the generic host."""

    def __init__(
        self, directory: Path, project: str, mode: str = "enforce", more: str = "", clock: Clock | None = None
    ) -> None:
        self.project = directory / "project"
        self.home = directory / "home"
        self.home.mkdir(parents=True)
        self.env = build_turn_env(self.home)
        self._create_project(PROJECTS[project], directory)
        self.store = close_after_test(FileStore(directory / "data", clock, load_projections()))
        # These turns are about claims, so nothing that they do is to be blocked.
        rule = "{name: ours, zone: guard, verdict: block, reason: ours, fix: leave it}"
        policy = parse_policy(f"rules: [{rule}]\nevidence:\n  mode: {mode}\n{more}")
        self.governance = Governance(policy, self.store, env=self.env, clock=clock or SystemClock())
        self.calls = 0

    def _create_project(self, description: Mapping[str, Any], directory: Path) -> None:
        write_files(self.project, description["files"])
        if description.get("git"):
            self.shell("git init -q -b main . && git add -A && git commit -q -m first")
        if description.get("remote"):
            remote = directory / "remote.git"
            self.shell(f"git init -q --bare {remote} && git remote add origin {remote} && git push -q -u origin main")

    def shell(self, command: str) -> tuple[int, str]:
        """Run a command for real, and return its status and all that it printed."""
        completed = subprocess.run(
            ["bash", "-c", command],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return completed.returncode, completed.stdout

    def send(self, event: str, **fields: Any) -> HookResponse:
        """Send an event as a host does, and return the response to it."""
        payload = {"event": event, "session": "s1", "cwd": str(self.project), **fields}
        hook_event = adapter.decode(payload, "", self.env)
        return adapter.encode(hook_event, dispatch_event(self.governance, hook_event, self.env))

    def call(self, tool: str, arguments: dict[str, Any], execute: Any) -> None:
        """Announce a call, execute it, and report what came of it."""
        self.calls += 1
        fields = {"tool": tool, "arguments": arguments, "call_id": f"c{self.calls}"}
        decision = self.send("before", **fields)
        assert decision.exit_code == 0, decision.stderr
        status, output = execute()
        self.send("after", **fields, result={"exit_code": status, "success": status == 0, "output": output})

    def step(self, step: Mapping[str, Any]) -> HookResponse | None:
        """Execute one step of a turn: ask, read, edit, replace, run, outside (not by the agent) or say."""
        ((action, value),) = step.items()
        if action == "ask":
            return self.send("prompt", prompt=value)
        if action == "say":
            return self.send("stop", message=value)
        if action == "outside":
            self.shell(value)
        elif action == "run":
            self.call("Bash", {"command": value}, lambda: self.shell(value))
        elif action == "background":
            self.call("Bash", {"command": value, "run_in_background": True}, lambda: (0, "started"))
        elif action == "read":
            path = self.project / value
            self.call("Read", {"file_path": str(path)}, lambda: (0, path.read_text()))
        elif action == "edit":
            for name, text in value.items():
                self._write(name, text)
        elif action == "replace":
            name, old, new = value
            text = (self.project / name).read_text()
            assert old in text
            self._write(name, text.replace(old, new))
        else:
            raise AssertionError(f"unknown step {action}")
        return None

    def _write(self, name: str, text: str) -> None:
        path = self.project / name

        def write() -> tuple[int, str]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return 0, ""

        self.call("Write", {"file_path": str(path), "content": text}, write)

    def play(self, turn: Mapping[str, Any]) -> HookResponse:
        """Play a whole turn, and return the response to its last message."""
        if "ask" in turn:
            self.step({"ask": turn["ask"]})
        for step in turn.get("steps", ()):
            self.step(step)
        response = self.step({"say": turn["say"]})
        assert response is not None
        return response

    @property
    def last_stop(self) -> dict[str, Any]:
        """Return what the gate recorded last."""
        stops = [entry for entry in self.store.read_entries("s1") if entry.kind is EntryKind.COMPLETION]
        return dict(stops[-1].body)
