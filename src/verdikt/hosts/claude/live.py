"""How Claude Code is run against a scripted model."""

from pathlib import Path

from verdikt.hosts.live.client_driver import ClientDriver


def _build_command(binary: Path, home: Path, url: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    command = [str(binary), "-p", prompt, "--output-format", "stream-json", "--verbose"]
    env = {
        "ANTHROPIC_API_KEY": "scripted",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        # Without it the client refuses to bypass permissions as root.
        "IS_SANDBOX": "1",
    }
    return [*command, "--permission-mode", "bypassPermissions"], env


DRIVER = ClientDriver(name="claude", shell_tool="Bash", build_command=_build_command)
