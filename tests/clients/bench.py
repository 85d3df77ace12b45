"""A project that `verdikt init` governs, with a real client that works in it."""

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

from tests.acceptance import accept
from tests.clients.conversation_model import ConversationModel
from tests.clients.install import install_client
from verdikt import __version__
from verdikt.daemon import client as warm
from verdikt.daemon import protocol
from verdikt.daemon.client import find_daemon_pid
from verdikt.hosts.live.client_driver import ClientDriver, ClientRun
from verdikt.hosts.live.model_api import ModelTurn, ToolUse
from verdikt.hosts.opencode.live import prevent_package_install
from verdikt.hosts.registry import HOSTS, load_client_driver

LOOPBACK_ENV = {
    # Whatever a client wants from the network beside the model, it does not get.
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
    "VERDIKT_DAEMON": "on",
    "VERDIKT_DAEMON_IDLE": "60",  # no warm process outlives a test for long, even if the test is killed
    # One model instead of a catalogue of thousands, whose reading takes OpenCode a third of a session's CPU.
    "OPENCODE_MODELS_PATH": str(Path(__file__).with_name("opencode_models.json")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session: how the client ended, and every request that its model got."""

    run: ClientRun
    model: ConversationModel

    def has_received(self, text: str) -> bool:
        """Whether the model was sent this text."""
        return self.model.has_received(text)

    @property
    def turn_count(self) -> int:
        """How often the model was asked to go on; titles and summaries do not count."""
        return sum(bool(request.get("tools")) for request in self.model.requests)


@dataclass(slots=True)
class Bench:
    """A client with a home, a project and a data directory of its own."""

    version: str
    root: Path
    unpacked_directory: Path
    """Shared by all benches: what Copilot unpacks at its first start."""
    client: ClientDriver = field(init=False)

    def __post_init__(self) -> None:
        driver = load_client_driver(self.version.split("-")[0])
        assert driver is not None
        self.client = driver
        for directory in (self.home, self.project, self.program_directory):
            directory.mkdir(parents=True)
        (self.program_directory / HOSTS[driver.name].program).symlink_to(install_client(self.version))
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        if self.client.name == "codex":
            self._write(self.home / ".codex/config.toml", f'[projects."{self.project}"]\ntrust_level = "trusted"\n')
        if self.client.name == "gemini":
            quiet = {"telemetry": {"enabled": False}, "privacy": {"usageStatisticsEnabled": False}}
            auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
            self._write(self.home / ".gemini/settings.json", json.dumps(auth | quiet))
        if self.client.name == "copilot":
            (self.home / ".cache").mkdir()
            (self.home / ".cache/copilot").symlink_to(self.unpacked_directory)
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
    def program_directory(self) -> Path:
        """A directory for PATH in which the client has its usual name."""
        return self.root / "bin"

    @property
    def data(self) -> Path:
        """The data directory of verdikt."""
        return self.home / ".local/share/verdikt"

    def run_verdikt(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run the command line as the person who owns the project does, with the client in PATH."""
        env = {
            "HOME": str(self.home),
            "VERDIKT_DAEMON": "off",
            "PATH": f"{self.program_directory}:{os.environ['PATH']}",
        }
        command = [sys.executable, "-m", "verdikt", *arguments]
        return subprocess.run(command, cwd=self.project, env=env, capture_output=True, text=True, check=False)

    def govern(self, policy: str = "", *, scope: str = "project") -> None:
        """Wire the client as a person would."""
        if policy:
            self._write(self.project / "governance.yaml", policy)
        trust = ["--trust-codex"] if self.client.name == "codex" else []
        completed = self.run_verdikt("init", "--host", self.client.name, "--scope", scope, "--yes", *trust)
        assert completed.returncode == 0, completed.stderr
        accept(self.project, {"HOME": str(self.home)})

    def shell(self, command: str) -> ToolUse:
        """Return a call of the client's shell tool."""
        return ToolUse(self.client.shell_tool, {self.client.command_argument: command, **self.client.extra_arguments})

    def play(
        self,
        *turns: ModelTurn,
        asides: Mapping[str, tuple[ModelTurn, ...]] | None = None,
        prompt: str = "do it",
        env: Mapping[str, str] | None = None,
        options: tuple[str, ...] = (),
        directory: Path | None = None,
        before_turn: Callable[[str], None] | None = None,
    ) -> Session:
        """Run one session in which the model says these turns."""
        with ConversationModel(turns, asides, before_turn) as model:
            run = self.client.run(
                install_client(self.version),
                project=directory or self.project,
                home=self.home,
                model=model,
                prompt=prompt,
                env=LOOPBACK_ENV | dict(env or {}),
                options=options,
                timeout_seconds=600,
            )
        return Session(run=run, model=model)

    def play_resident(self, *turns: ModelTurn, until: Callable[[], bool], prompt: str = "do it") -> Session:
        """Run one session in an OpenCode that stays, as its terminal interface does.

        `opencode run` ends at the first stop, before the plugin can ask it to go on.
        """
        if self.client.name != "opencode":
            return self.play(*turns, prompt=prompt)
        with ConversationModel(turns) as model, socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
            free.close()
            binary = install_client(self.version)
            command, client_env = self.client.build_command(binary, self.home, model.url, prompt)
            env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **client_env, **LOOPBACK_ENV}
            serve = [command[0], "serve", "--port", str(port)]
            pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
            with subprocess.Popen(serve, cwd=self.project, env=env, **pipes) as server:
                try:
                    assert server.stdout is not None
                    next(line for line in server.stdout if "listening" in line)
                    address = f"http://127.0.0.1:{port}/session"
                    session = _post(address, {})["id"]
                    message = _post(f"{address}/{session}/message", {"parts": [{"type": "text", "text": prompt}]})
                    for _ in range(600):
                        if until():
                            break
                        time.sleep(0.1)
                finally:
                    server.terminate()
        return Session(run=ClientRun(exit_code=0, stdout=json.dumps(message), stderr=""), model=model)

    def count_warm_calls(self) -> int:
        """Return how many calls the warm process has decided."""
        head_fields = [__version__, "@status", "", "", "/", protocol.PYTHON_CLIENT]
        request = protocol.encode_request(head_fields, {}, b"")
        answer = warm.send_request(str(self.data / "run/daemon.sock"), request, 10.0)
        return int(json.loads(answer[1])["calls"])

    def stop_daemon(self) -> None:
        """End the warm process that hooks started, and wait until it is gone."""
        while pid := find_daemon_pid(self.data / "run"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def has_file(self, name: str) -> bool:
        """Whether a command left its file behind."""
        return (self.project / name).exists()

    def read_crashes(self) -> list[dict[str, Any]]:
        """Return the failures that hooks recorded."""
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
