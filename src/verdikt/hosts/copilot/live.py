"""How Copilot CLI is run against a scripted model."""

from pathlib import Path

from verdikt.hosts.live.client_driver import ClientDriver


def _build_command(binary: Path, home: Path, url: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    env = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_BASE_URL": url,
        "COPILOT_PROVIDER_API_KEY": "scripted",
        "COPILOT_MODEL": "claude-sonnet-4.5",
        # Exactly this word; without it the hooks of a project are not loaded.
        "COPILOT_ALLOW_ALL": "true",
    }
    # Otherwise the client itself refuses paths outside the project, and nothing would be proven about the hook.
    return [str(binary), "-p", prompt, "--allow-all-paths"], env


DRIVER = ClientDriver(name="copilot", shell_tool="bash", build_command=_build_command, settings_variable="COPILOT_HOME")
