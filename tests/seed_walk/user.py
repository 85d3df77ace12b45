"""A reader of the documents: a home of their own, a project, and a terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.acceptance import accept

Story = Callable[["User"], None]
STORIES: dict[str, Story] = {}
"""Statement → the story that tries it."""


def walks(*ids: str) -> Callable[[Story], Story]:
    """Register a story for the statements that it tries."""

    def register(story: Story) -> Story:
        for id in ids:
            assert id not in STORIES, f"{id} has two stories"
            STORIES[id] = story
        return story

    return register


class User:
    """Runs commands in a project, with an own home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "project"
        for directory in (self.home, self.project / "src"):
            directory.mkdir(parents=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "VERDIKT_HOME": str(folder / "data"),
            "VERDIKT_DAEMON": "off",
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def write_policy(self, text: str) -> None:
        """Write the project's policy and accept it, as a person does with `verdikt policy accept`."""
        self.write("governance.yaml", text)
        accept(self.project, self.env)

    def run(self, *words: str, text: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
        """Run a program in the project."""
        return subprocess.run(
            words, cwd=self.project, env=self.env | env, input=text, capture_output=True, text=True, check=False
        )

    def module(self, name: str, *words: str, text: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
        """Run `python -m name`."""
        return self.run(sys.executable, "-m", name, *words, text=text, **env)

    def verdikt(self, *words: str, text: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
        """Run `verdikt`."""
        return self.module("verdikt", *words, text=text, **env)

    def python(self, program: str) -> "subprocess.CompletedProcess[str]":
        """Run a program that must succeed."""
        completed = self.run(sys.executable, "-c", program)
        assert completed.returncode == 0, completed.stderr
        return completed

    def hook(self, event: str, session: str = "s1", **payload: Any) -> dict[str, Any]:
        """Report one event as Codex does, whose answers at stop are plain decisions; return the answer."""
        body = {"hook_event_name": event, "session_id": session, "turn_id": "t", "cwd": str(self.project), **payload}
        completed = self.verdikt("hook", "codex", event, text=json.dumps(body))
        answer: dict[str, Any] = json.loads(completed.stdout or "{}")
        return answer

    def call(self, command: str, output: str = "ok\n", **more: Any) -> dict[str, Any]:
        """Report a shell command, before and after it; return the first answer that is not empty."""
        call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": command}
        before = self.hook("PreToolUse", **call, **more)
        return before or self.hook("PostToolUse", **call, tool_response=output, **more)

    def stop(self, message: str) -> dict[str, Any]:
        """End the turn with a message; return the answer."""
        return self.hook("Stop", last_assistant_message=message, stop_hook_active=False)

    def entries(self, session: str = "s1") -> list[dict[str, Any]]:
        """Return the log of a session."""
        path = self.data / "ledger" / f"{session}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
