"""How Gemini CLI is run against a scripted model."""

import json
from pathlib import Path

from verdikt.hosts.live.client_driver import ClientDriver


def _build_command(binary: Path, home: Path, url: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    command = [str(binary), "-p", prompt, "-m", "gemini-2.5-pro", "--output-format", "stream-json"]
    env = {
        "GEMINI_API_KEY": "scripted",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
        # Otherwise it starts itself a second time with more memory.
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }
    return [*command, "--approval-mode", "yolo"], env


def _adjust_settings(settings_directory: Path, source: Path) -> None:
    """Let the client log in with the key of the scripted model, however the person logs in."""
    file = settings_directory / "settings.json"
    settings = json.loads(file.read_text()) if file.exists() else {}
    settings["security"] = {**settings.get("security", {}), "auth": {"selectedType": "gemini-api-key"}}
    settings_directory.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings))


DRIVER = ClientDriver(
    name="gemini", shell_tool="run_shell_command", build_command=_build_command, adjust_settings=_adjust_settings
)
