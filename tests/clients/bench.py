"""A project governed by `verdikt init`, and a real client at work in it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verdikt.hosts.live.model_script import ModelScript, ModelTurn, ToolUse

from tests.clients.install import binary
from verdikt import __version__
from verdikt.daemon import client as warm
from verdikt.daemon import protocol
from verdikt.daemon.client import find_daemon_pid
from verdikt.hosts.live.client_driver import CLIENT_DRIVERS, ClientDriver, ClientRun, prevent_package_install
from verdikt.hosts.live.scripted_model import ScriptedModel

LOOPBACK = {
    # Whatever a client wants from the network beside the model, it does not get.
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
    "VERDIKT_DAEMON": "on",
    "VERDIKT_DAEMON_IDLE": "60",  # no warm process outlives a test for long, even if the test is killed
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One session: how the client ended, and every request that its model got."""

    run: ClientRun
    model: ScriptedModel

    def heard(self, text: str) -> bool:
        """Whether the model was told this."""
        return self.model.has_received(text)

    @property
    def turns(self) -> int:
        """How often the model was asked to go on; titles and summaries do not count."""
        return sum(bool(request.get("tools")) for request in self.model.requests)


@dataclass(slots=True)
class Bench:
    """A client with a home, a project and a data directory of its own."""

    version: str
    root: Path
    client: ClientDriver = field(init=False)

    def __post_init__(self) -> None:
        self.client = CLIENT_DRIVERS[self.version.split("-")[0]]
        for directory in (self.home, self.project):
            directory.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        if self.client.name == "codex":
            self._write(self.home / ".codex/config.toml", f'[projects."{self.project}"]\ntrust_level = "trusted"\n')
        if self.client.name == "gemini":
            quiet = {"telemetry": {"enabled": False}, "privacy": {"usageStatisticsEnabled": False}}
            auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
            self._write(self.home / ".gemini/settings.json", json.dumps(auth | quiet))
        if self.client.name == "opencode":
            for directory in (self.home / ".config/opencode", self.project / ".opencode"):
                prevent_package_install(directory)

    @property
    def home(self) -> Path:
        """The home directory."""
        return self.root / "home"

    @property
    def project(self) -> Path:
        """The project."""
        return self.root / "project"

    @property
    def data(self) -> Path:
        """verdikt's data."""
        return self.home / ".local/share/verdikt"

    def verdikt(self, *arguments: str, path: str = "") -> "subprocess.CompletedProcess[str]":
        """The command line, as the person who owns the project runs it."""
        env = {
            "HOME": str(self.home),
            "VERDIKT_DAEMON": "off",
            "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"],
        }
        command = [sys.executable, "-m", "verdikt", *arguments]
        return subprocess.run(command, cwd=self.project, env=env, capture_output=True, text=True, check=False)

    def govern(self, policy: str = "") -> None:
        """Wires the client as a person would."""
        if policy:
            self._write(self.project / "governance.yaml", policy)
        trust = ["--trust-codex"] if self.client.name == "codex" else []
        done = self.verdikt("init", "--host", self.client.name, "--yes", *trust)
        assert done.returncode == 0, done.stderr

    def shell(self, command: str) -> ToolUse:
        """The client's shell tool with a command."""
        return ToolUse(self.client.shell_tool, {self.client.command_argument: command, **self.client.extra_arguments})

    def play(
        self,
        *turns: ModelTurn,
        asides: Mapping[str, tuple[ModelTurn, ...]] | None = None,
        prompt: str = "do it",
        env: Mapping[str, str] | None = None,
        options: tuple[str, ...] = (),
        where: Path | None = None,
    ) -> Played:
        """One session in which the model says these turns."""
        with ScriptedModel(ModelScript(turns=turns, side_conversations=asides or {})) as model:
            run = self.client.run(
                binary(self.version),
                project=where or self.project,
                home=self.home,
                model=model,
                prompt=prompt,
                env=LOOPBACK | dict(env or {}),
                options=options,
            )
        return Played(run=run, model=model)

    def play_resident(self, *turns: ModelTurn, until: Callable[[], bool], prompt: str = "do it") -> Played:
        """One session in an OpenCode that stays, as its terminal interface does; `opencode run` by itself ends at the first stop."""
        if self.client.name != "opencode":
            return self.play(*turns, prompt=prompt)
        with ScriptedModel(ModelScript(turns=turns)) as model, socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
            free.close()
            command, own = self.client.build_command(self.client, binary(self.version), self.home, model.url, prompt)
            env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **own, **LOOPBACK}
            serve = [command[0], "serve", "--port", str(port)]
            pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
            with subprocess.Popen(serve, cwd=self.project, env=env, **pipes) as server:
                try:
                    assert server.stdout is not None
                    next(line for line in server.stdout if "listening" in line)
                    address = f"http://127.0.0.1:{port}/session"
                    session = _post(address, {})["id"]
                    said = _post(f"{address}/{session}/message", {"parts": [{"type": "text", "text": prompt}]})
                    for _ in range(600):
                        if until():
                            break
                        time.sleep(0.1)
                finally:
                    server.terminate()
        return Played(run=ClientRun(exit_code=0, stdout=json.dumps(said), stderr=""), model=model)

    def warm_calls(self) -> int:
        """How many calls the warm process has decided."""
        words = [__version__, "@status", "", "", "/", protocol.PYTHON_CLIENT]
        said = warm.send_request(str(self.data / "run/daemon.sock"), protocol.encode_request(words, {}, b""), 10.0)
        return int(json.loads(said[1])["calls"])

    def end(self) -> None:
        """Ends the warm process that hooks started; waits until it is gone."""
        while pid := find_daemon_pid(self.data / "run"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def ran(self, name: str) -> bool:
        """Whether a command left its file behind."""
        return (self.project / name).exists()

    def crashes(self) -> list[dict[str, Any]]:
        """What hooks could not do."""
        file = self.data / "_hook_crashes.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _post(address: str, body: Mapping[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
        document: dict[str, Any] = json.load(answer)
    return document
