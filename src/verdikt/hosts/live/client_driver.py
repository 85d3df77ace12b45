"""How each real client is run against the scripted model: in a clean environment, a home of its own, loopback only."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from verdikt.hosts.live.scripted_model import ScriptedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRun:
    """One run of a client: how it ended and what it printed."""

    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDriver:
    """A client as it can be driven: the shell tool that its model calls, and how it is started."""

    name: str
    shell_tool: str
    command_argument: str
    """What its shell tool calls the command."""
    build_command: Callable[["ClientDriver", Path, Path, str, str], tuple[list[str], dict[str, str]]]
    """(client, binary, home, address of the model, prompt) → command and environment."""
    extra_arguments: Mapping[str, str] = field(default_factory=dict)
    """What else its shell tool must be given."""

    def run(
        self,
        binary: Path,
        *,
        project: Path,
        home: Path,
        model: ScriptedModel,
        prompt: str,
        env: Mapping[str, str],
        options: tuple[str, ...] = (),
        timeout_seconds: float = 240,
    ) -> ClientRun:
        """Runs the client once in the project, with nothing of our own environment but what is given.

        Whatever is given, it talks to this model and lives in this home.
        """
        command, own = self.build_command(self, binary, home, model.url, prompt)
        base = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8"}
        done = subprocess.run(
            [*command, *options],
            cwd=project,
            env={**base, **env, "HOME": str(home), **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_seconds,
            check=False,
        )
        return ClientRun(exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)


def _build_claude_command(
    client: ClientDriver, binary: Path, home: Path, url: str, prompt: str
) -> tuple[list[str], dict[str, str]]:
    command = [str(binary), "-p", prompt, "--output-format", "stream-json", "--verbose"]
    env = {
        "ANTHROPIC_API_KEY": "scripted",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "IS_SANDBOX": "1",
    }
    return [*command, "--permission-mode", "bypassPermissions"], env


def _build_codex_command(
    client: ClientDriver, binary: Path, home: Path, url: str, prompt: str
) -> tuple[list[str], dict[str, str]]:
    provider = {
        "name": "scripted",
        "base_url": f"{url}/v1",
        "wire_api": "responses",
        "env_key": "SCRIPTED_KEY",
        "request_max_retries": 0,
        "stream_max_retries": 0,
    }
    settings = {f"model_providers.scripted.{key}": value for key, value in provider.items()}
    # Without these two it looks for plugins on the network before it ends.
    settings |= {"model_provider": "scripted", "features.plugins": False, "features.apps": False}
    overrides = [word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}")]
    command = [str(binary), "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    env = {"CODEX_HOME": str(home / ".codex"), "SCRIPTED_KEY": "scripted"}
    return [*command, "-m", "gpt-5.5", *overrides, prompt], env


def _build_gemini_command(
    client: ClientDriver, binary: Path, home: Path, url: str, prompt: str
) -> tuple[list[str], dict[str, str]]:
    command = [str(binary), "-p", prompt, "-m", "gemini-2.5-pro", "--output-format", "stream-json"]
    env = {
        "GEMINI_API_KEY": "scripted",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }
    return [*command, "--approval-mode", "yolo"], env


def _build_copilot_command(
    client: ClientDriver, binary: Path, home: Path, url: str, prompt: str
) -> tuple[list[str], dict[str, str]]:
    env = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_BASE_URL": url,
        "COPILOT_PROVIDER_API_KEY": "scripted",
        "COPILOT_MODEL": "claude-sonnet-4.5",
        "COPILOT_ALLOW_ALL": "true",
    }
    # Or it refuses by itself what lies outside the project, and nothing is proven.
    return [str(binary), "-p", prompt, "--allow-all-paths"], env


def _build_opencode_command(
    client: ClientDriver, binary: Path, home: Path, url: str, prompt: str
) -> tuple[list[str], dict[str, str]]:
    model = "anthropic/claude-sonnet-4-5"
    provider = {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": "scripted"}}}
    settings = {"provider": provider, "model": model, "small_model": model, "share": "disabled", "autoupdate": False}
    env = {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }
    return [str(binary), "run", "--auto", "--format", "json", "-m", model, prompt], env


def prevent_package_install(directory: Path) -> list[Path]:
    """Keeps OpenCode from installing a package into a directory of its settings before it starts; what had to be put there."""
    wanted = {"dependencies": {"@opencode-ai/plugin": "*"}}
    lock = {"name": "opencode", "lockfileVersion": 3, "requires": True, "packages": {"": wanted}}
    modules = directory / "node_modules"
    if modules.exists():
        return []
    modules.mkdir(parents=True)
    files = {directory / "package.json": wanted, directory / "package-lock.json": lock}
    made = [file for file in files if not file.exists()]
    for file in made:
        file.write_text(json.dumps(files[file]))
    return [*made, modules]


CLIENT_DRIVERS: dict[str, ClientDriver] = {
    "claude": ClientDriver(
        name="claude", shell_tool="Bash", command_argument="command", build_command=_build_claude_command
    ),
    "codex": ClientDriver(
        name="codex", shell_tool="exec_command", command_argument="cmd", build_command=_build_codex_command
    ),
    "gemini": ClientDriver(
        name="gemini", shell_tool="run_shell_command", command_argument="command", build_command=_build_gemini_command
    ),
    "copilot": ClientDriver(
        name="copilot", shell_tool="bash", command_argument="command", build_command=_build_copilot_command
    ),
    "opencode": ClientDriver(
        name="opencode",
        shell_tool="bash",
        command_argument="command",
        build_command=_build_opencode_command,
        extra_arguments={"description": "a command"},
    ),
}
