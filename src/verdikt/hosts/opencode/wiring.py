"""The wiring of OpenCode, which loads a plugin instead of naming hooks in its settings."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verdikt.errors import WiringError
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host import PROJECT_SCOPES
from verdikt.hosts.opencode import HOST
from verdikt.hosts.wiring.file_change import FileChange, read_file
from verdikt.hosts.wiring.host_wiring import HostWiring, WiredFile, find_known_gaps, is_on_record
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.portable_registration import MISSING_TEXT
from verdikt.hosts.wiring.registration import WRAPPER_TIMEOUT_SECONDS, is_hook_command

_PLUGIN_TEMPLATE = Path(__file__).with_name("plugin.js")
_CANARY_SCRIPT = Path(__file__).with_name("canary.mjs")


class OpenCodeWiring(HostWiring):
    """A plugin with the command of the hook written into it."""

    def plan_changes(self, installation: Installation, scope: str, *, trust: bool) -> list[FileChange]:
        """Return the change that writes the plugin."""
        if scope not in self.host.scopes:
            raise WiringError(f"`opencode` has no {scope} plugins; see `verdikt docs opencode`")
        file = installation.get_settings_file(HOST, scope)
        return [self.build_change(file, read_file(file), _render_plugin(installation, scope), "the plugin")]

    def strip_hooks(self, data: bytes, original: bytes | None, file: str) -> tuple[bytes | None, str]:
        """Leave a plugin alone that was changed since: only its author knows which part of it is ours."""
        return data, "changed since, so left as it is"

    def parse_settings(self, data: bytes | None, file: str) -> dict[str, Any]:
        """Return nothing: a plugin is code."""
        return {}

    def find_wired_files(self, installation: Installation) -> Iterator[WiredFile]:
        """Yield the plugins that are there, with a command that loads each as OpenCode does."""
        event = HOST.find_event(HookEventKind.BEFORE)
        for scope, file in installation.list_settings_files(HOST):
            data = read_file(file)
            if not data:
                continue
            is_ours = is_hook_command(data.decode(errors="replace"))
            is_foreign = (
                scope in PROJECT_SCOPES
                and not is_on_record(installation, file)
                and data not in [_render_plugin(installation, known_scope) for known_scope in PROJECT_SCOPES]
            )
            yield WiredFile(
                host=HOST.name,
                scope=scope,
                file=file,
                commands={event: shlex.join(["node", str(_CANARY_SCRIPT), file])} if is_ours else {},
                missing_events=() if is_ours else (event,),
                is_trusted=True,
                known_gaps=tuple(find_known_gaps(self, installation, scope)),
                is_wrapped=True,
                is_foreign=is_foreign,
            )


def _render_plugin(installation: Installation, scope: str) -> bytes:
    wrapper: list[str] = []
    hook: list[str] = []
    if scope != "project":
        registration = installation.create_registration(scope)
        wrapper = [*registration.wrapper_argv, str(WRAPPER_TIMEOUT_SECONDS)]
        # The plugin appends the event itself.
        hook = registration.build_hook_argv(HOST.name, "")[:-1]
    text = _PLUGIN_TEMPLATE.read_text()
    for placeholder, value in (('["verdikt-guard"]', wrapper), ('["verdikt-hook"]', hook)):
        text = text.replace(placeholder, json.dumps(value))
    return text.replace('"verdikt-missing"', json.dumps(MISSING_TEXT)).encode()


WIRING = OpenCodeWiring(HOST)
