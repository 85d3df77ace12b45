"""How Codex is run against a scripted model."""

import json
from pathlib import Path

from verdikt.hosts.live.client_driver import ClientDriver


def _build_command(binary: Path, home: Path, url: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    provider = {
        "name": "scripted",
        "base_url": f"{url}/v1",
        "wire_api": "responses",
        "env_key": "SCRIPTED_KEY",
        "request_max_retries": 0,
        "stream_max_retries": 0,
    }
    settings = {f"model_providers.scripted.{key}": value for key, value in provider.items()}
    # With plugins or apps it looks for them on the network before it ends, which takes five seconds offline.
    settings |= {"model_provider": "scripted", "features.plugins": False, "features.apps": False}
    overrides = [word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}")]
    command = [str(binary), "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    env = {"CODEX_HOME": str(home / ".codex"), "SCRIPTED_KEY": "scripted"}
    return [*command, "-m", "gpt-5.5", *overrides, prompt], env


def _adjust_settings(settings_directory: Path, source: Path) -> None:
    """Let the approvals name the copy of `hooks.json`: they hold the absolute path of the file."""
    file = settings_directory / "config.toml"
    settings_directory.mkdir(parents=True, exist_ok=True)
    text = file.read_text() if file.exists() else ""
    file.write_text(text.replace(f"{source}/hooks.json:", f"{settings_directory}/hooks.json:"))


DRIVER = ClientDriver(
    name="codex",
    shell_tool="exec_command",
    command_argument="cmd",
    build_command=_build_command,
    adjust_settings=_adjust_settings,
)
