"""The wiring of Gemini CLI."""

from collections.abc import Iterator
from typing import Any

from verdikt.hosts.gemini import HOST
from verdikt.hosts.git import git_hooks
from verdikt.hosts.host import SCOPES, KnownGap
from verdikt.hosts.wiring.host_wiring import HostWiring, load_settings
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.registration import CLIENT_TIMEOUT_SECONDS
from verdikt.hosts.wiring.settings_schema import SettingsSchema, is_optional_text
from verdikt.observe.git_index import GitIndex
from verdikt.observe.git_repository import find_work_tree

_HOOK_NAME = "verdikt"
"""The name by which `hooksConfig.disabled` can switch the hook off."""


class GeminiWiring(HostWiring):
    """Entries under `hooks`, grouped by a matcher."""

    schema = SettingsSchema(matcher=is_optional_text)

    def build_entry(self, command: str, *, fail_closed: bool) -> dict[str, Any]:
        """Return a hook for every tool."""
        # In milliseconds: `30` would time out every hook, and then the tool runs.
        timeout = CLIENT_TIMEOUT_SECONDS * 1000
        handler = {"name": _HOOK_NAME, "type": "command", "command": command, "timeout": timeout}
        return {"matcher": "*", "hooks": [handler]}

    def find_gaps(self, installation: Installation, scope: str) -> Iterator[KnownGap]:
        """Yield settings that switch hooks off, and git hooks that Gemini CLI does not run."""
        for file in (installation.get_settings_file(HOST, other) for other in SCOPES):
            config = load_settings(self, file).get("hooksConfig")
            if not isinstance(config, dict):
                continue
            disabled = config.get("disabled")
            is_disabled = isinstance(disabled, list) and _HOOK_NAME in disabled
            if config.get("enabled") is False or is_disabled:
                yield KnownGap(what=f"hooks are switched off in {file}", fix="remove `hooksConfig`", open=True)
        if _has_git_hooks(installation):
            yield KnownGap(
                what="Gemini CLI runs git without any hooks, so its commits and pushes are not checked",
                fix="add the rule `gemini_commits` of `verdikt docs gemini` to the policy",
            )


def _has_git_hooks(installation: Installation) -> bool:
    if not find_work_tree(installation.project):
        return False
    directory = GitIndex(installation.project, installation.env).find_hooks_directory()
    return any(hook.is_installed for hook in git_hooks.read_hook_states(directory))


WIRING = GeminiWiring(HOST)
