"""The wiring of Claude Code: hooks in its settings, as commands or, written by hand, as addresses."""

from collections.abc import Iterator, Mapping
from typing import Any

from verdikt.hosts.claude import HOST
from verdikt.hosts.claude.http_hooks import build_test_command, find_http_hooks
from verdikt.hosts.host import SCOPES, KnownGap
from verdikt.hosts.wiring import json_settings
from verdikt.hosts.wiring.host_wiring import HostWiring, find_schema_gaps, has_hook, load_settings
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.registration import CLIENT_TIMEOUT_SECONDS, split_command_line
from verdikt.hosts.wiring.settings_schema import (
    SettingsSchema,
    is_bool,
    is_one_of,
    is_positive,
    is_text,
    is_text_list,
)


class ClaudeWiring(HostWiring):
    """Entries under `hooks`, grouped by a matcher."""

    schema = SettingsSchema(
        required_fields={
            "command": {"command": is_text},
            "http": {"url": is_text},
            "mcp_tool": {"server": is_text, "tool": is_text},
            "prompt": {"prompt": is_text},
            "agent": {"prompt": is_text},
        },
        optional_fields={
            "timeout": is_positive,
            "statusMessage": is_text,
            "if": is_text,
            "args": is_text_list,
            "once": is_bool,
            "async": is_bool,
            "asyncRewake": is_bool,
            "shell": is_one_of("bash", "powershell"),
            "onFailure": is_one_of("block", "continue"),
        },
        matcher=is_text,
        needs_hook_list=True,
    )

    def build_entry(self, command: str, *, fail_closed: bool) -> dict[str, Any]:
        """Return a hook for every tool."""
        handler: dict[str, Any] = {"type": "command", "command": command, "timeout": CLIENT_TIMEOUT_SECONDS}
        if fail_closed:
            handler["onFailure"] = "block"  # known since 2.1.295 and ignored before
        return {"matcher": "*", "hooks": [handler]}

    def split_arguments(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Return an entry without a shell, which costs as much as starting `/bin/true`; what needs one keeps it."""
        (handler,) = entry["hooks"]
        if (argv := split_command_line(handler["command"])) is None:
            return entry
        return {**entry, "hooks": [{**handler, "command": argv[0], "args": argv[1:]}]}

    def find_commands(self, installation: Installation, settings: Mapping[str, Any]) -> dict[str, str]:
        """Return the commands, and for each http hook a command that does what the client does."""
        http_commands = {
            event: build_test_command(installation, handler) for event, handler in find_http_hooks(settings)
        }
        return http_commands | super().find_commands(installation, settings)

    def find_file_gaps(self, installation: Installation, settings: Mapping[str, Any]) -> Iterator[KnownGap]:
        """Yield http hooks that let the tool run when they get no answer, and hooks that are wired twice."""
        http_hooks = dict(find_http_hooks(settings))
        for event, handler in http_hooks.items():
            kind = HOST.events.get(event)
            if kind and kind.fails_closed and handler.get("onFailure") != "block":
                yield KnownGap(
                    what=f"the http hook for {event} lets the tool run when nothing listens at {handler.get('url')}",
                    fix='set `"onFailure": "block"` on it (Claude Code 2.1.295 or newer), '
                    "or use the commands of `verdikt init`",
                    open=True,
                )
        if events := sorted(set(http_hooks) & set(dict(json_settings.find_hook_commands(settings)))):
            yield KnownGap(
                what=f"a command and an http hook are both called ({', '.join(events)}): "
                "every call is decided, counted and logged twice",
                fix="take one of them out",
            )
        yield from super().find_file_gaps(installation, settings)

    def find_gaps(self, installation: Installation, scope: str) -> Iterator[KnownGap]:
        """Yield settings and variables that switch hooks off, and flags that do unless hooks are managed."""
        for file in (installation.get_settings_file(HOST, other) for other in SCOPES):
            if load_settings(self, file).get("disableAllHooks") is True:
                yield KnownGap(what=f"`disableAllHooks` is set in {file}", fix="remove it", open=True)
        if scope != "local":
            yield from find_schema_gaps(self, installation.get_settings_file(HOST, "local"))
        if installation.env.get("CLAUDE_CODE_SIMPLE"):
            yield KnownGap(what="`CLAUDE_CODE_SIMPLE` switches hooks off", fix="unset it", open=True)
        if not has_hook(self, installation, "managed"):
            yield KnownGap(
                what="`--bare`, `--setting-sources` and `--settings` start a session without these hooks",
                fix="wire the managed settings instead: `sudo verdikt init --host claude --scope managed`",
            )


WIRING = ClaudeWiring(HOST)
