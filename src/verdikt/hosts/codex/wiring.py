"""The wiring of Codex: `hooks.json`, the approval of its hooks, and the requirements of a managed machine."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from verdikt.errors import WiringError
from verdikt.hosts.codex import HOST, config_files, hook_approval
from verdikt.hosts.host import PROJECT_SCOPES, KnownGap
from verdikt.hosts.wiring import json_settings, toml_editor
from verdikt.hosts.wiring.file_change import FileChange, read_file
from verdikt.hosts.wiring.host_wiring import WITHOUT_OUR_HOOKS, HostWiring, has_hook
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.registration import CLIENT_TIMEOUT_SECONDS
from verdikt.hosts.wiring.settings_schema import (
    SettingsSchema,
    is_anything,
    is_bool,
    is_optional_count,
    is_optional_text,
    is_text,
)

_TRUST_ADVICE = (
    "say that you trust it: start `codex` here and answer so, or run `verdikt init --host codex --trust-codex` "
    "(if {file} says `untrusted` of `{project}`, take that out first); or wire your own settings, "
    "which need no trust in a project: `verdikt init --host codex --scope user --trust-codex`"
)


class CodexWiring(HostWiring):
    """Entries in `hooks.json`; TOML in the managed scope."""

    schema = SettingsSchema(
        required_fields={"command": {"command": is_text}, "prompt": {}, "agent": {}, "mcp_tool": {}},
        optional_fields={"timeout": is_optional_count, "statusMessage": is_optional_text, "async": is_bool},
        matcher=is_optional_text,
        # After an unknown key at the top Codex reads none of the hooks.
        top_level_fields={"description": is_optional_text, "hooks": is_anything},
    )

    def build_entry(self, command: str, *, fail_closed: bool) -> dict[str, Any]:
        """Return a hook for every tool; any key that Codex does not know would make it reject the file."""
        return {"matcher": "*", "hooks": [{"type": "command", "command": command, "timeout": CLIENT_TIMEOUT_SECONDS}]}

    def plan_changes(self, installation: Installation, scope: str, *, trust: bool) -> list[FileChange]:
        """Return the changes of the hooks, of the settings that they need and, with `trust`, of the approval."""
        if scope == "managed":
            return [self._plan_requirements(installation)]
        [hooks_change] = super().plan_changes(installation, scope, trust=trust)
        return [hooks_change, *config_files.plan_config_changes(installation, hooks_change, scope, trust=trust)]

    def _plan_requirements(self, installation: Installation) -> FileChange:
        file = self.require_settings_file(installation, "managed")
        before = read_file(file)
        registration = installation.create_registration("managed")
        entries = self.build_entries(registration)
        after = config_files.add_requirements(before, entries, os.path.dirname(registration.wrapper_path), file)
        return self.build_change(file, before, after, f"hooks for {len(entries)} events")

    def strip_hooks(self, data: bytes, original: bytes | None, file: str) -> tuple[bytes | None, str]:
        """Return the file without our hooks, and a description of that."""
        if not file.endswith(".toml"):
            return super().strip_hooks(data, original, file)
        # Codex writes into its own file at any time, so it is hardly ever as we left it.
        stripped = config_files.remove_requirements(data)
        with suppress(WiringError):  # an approval of a hook that is gone does no harm
            stripped = hook_approval.withdraw_approvals(stripped, original, file)
        if stripped == data:
            return data, "changed since, so left as it is: look for verdikt in it"
        return stripped, WITHOUT_OUR_HOOKS

    def parse_settings(self, data: bytes | None, file: str) -> dict[str, Any]:
        """Return the content of a settings file, which is TOML in the managed scope."""
        return toml_editor.parse(data, file) if file.endswith(".toml") else json_settings.parse(data, file)

    def is_trusted(self, installation: Installation, scope: str, settings: Mapping[str, Any], file: str) -> bool:
        """Whether a person has approved every hook of the file; managed hooks need no approval."""
        if scope == "managed":
            return True
        config = config_files.get_config_file(installation)
        return hook_approval.is_approved(read_file(config), hook_approval.compute_hashes(settings, file), config)

    def find_gaps(self, installation: Installation, scope: str) -> Iterator[KnownGap]:
        """Yield features that switch hooks off or bypass them, and a project that Codex does not trust."""
        features: dict[str, Any] = {}
        trust_level = ""
        own_config = config_files.get_config_file(installation)
        project_config = os.path.join(installation.project, ".codex", "config.toml")
        for file in (own_config, project_config, installation.get_settings_file(HOST, "managed")):
            try:
                tables = toml_editor.parse(read_file(file), file)
            except WiringError as error:
                yield KnownGap(what=str(error), fix="fix it", open=True)
                continue
            table = tables.get("features")
            features |= table if isinstance(table, dict) else {}
            trust_level = trust_level or config_files.find_trust_level(tables, installation.project)
        if features.get("unified_exec_tty") is not False:
            yield KnownGap(
                what="what is typed into a terminal session (`write_stdin`) fires no hook",
                fix="set `unified_exec_tty = false` under `[features]`: `verdikt init --host codex` does",
                open=True,
            )
        if features.get("hooks") is False:
            yield KnownGap(what="`features.hooks` is false", fix="remove it", open=True)
        if scope in PROJECT_SCOPES and trust_level != "trusted":
            yield KnownGap(
                what="Codex does not trust this project, so it reads neither its hooks nor its settings",
                fix=_TRUST_ADVICE.format(file=own_config, project=installation.project),
                open=True,
            )
        if not has_hook(self, installation, "managed"):
            yield KnownGap(
                what="`codex --disable hooks` starts a session without these hooks",
                fix="wire the managed settings instead: `sudo verdikt init --host codex --scope managed`",
            )


WIRING = CodexWiring(HOST)
