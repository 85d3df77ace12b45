"""Http hooks, which people wire by hand: what their settings look like, and how the doctor tries them."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from verdikt import hosts
from verdikt.errors import WiringError
from verdikt.hosts.wiring.registration import CLIENT_TIMEOUT_SECONDS
from verdikt.hosts.wiring.settings_layout import SETTINGS_LAYOUTS
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.hosts.wiring.installation import Installation

HTTP_HOOK_HOST = "claude"
"""The one host with http hooks."""

TOKEN_VARIABLE = "VERDIKT_TOKEN"
"""The variable that the client must be started with."""

_HOOK_URL = compile_lazily(r"^http://(127\.0\.0\.1|localhost):\d{1,5}/hook/")


def build_settings(installation: "Installation", port: int) -> dict[str, Any]:
    """Settings for a project: its hooks as addresses at that port, and as a command where the client calls no address."""
    if not installation.project.isascii():
        raise WiringError(
            f"expected a project whose path fits into a header, found `{installation.project}`; use `verdikt init`"
        )
    place = SETTINGS_LAYOUTS[HTTP_HOOK_HOST]
    start = shlex.join(installation.create_registration().build_hook_argv(HTTP_HOOK_HOST, "SessionStart"))
    command = {"matcher": "*", "hooks": [{"type": "command", "command": start, "timeout": CLIENT_TIMEOUT_SECONDS}]}
    return {
        "hooks": {
            event: [
                command
                if event == "SessionStart"  # for which the client calls no address
                else {"matcher": "*", "hooks": [_build_handler(installation.project, event, port)]}
            ]
            for event in place.events
        }
    }


def _build_handler(project: str, event_name: str, port: int) -> dict[str, Any]:
    seen = "CLAUDE_CODE_ENTRYPOINT"
    handler = {
        "type": "http",
        "url": f"http://127.0.0.1:{port}/hook/{HTTP_HOOK_HOST}/{event_name}",
        "timeout": CLIENT_TIMEOUT_SECONDS,
        # Which project it is, the client tells commands and not addresses; where the agent has gone meanwhile is no answer.
        "headers": {
            "Authorization": f"Bearer ${TOKEN_VARIABLE}",
            "X-Verdikt-CLAUDE_PROJECT_DIR": project,
            f"X-Verdikt-{seen}": f"${seen}",
        },
        "allowedEnvVars": [TOKEN_VARIABLE, seen],
    }
    closed = hosts.load_adapter(HTTP_HOOK_HOST).EVENTS[event_name].fails_closed
    return handler | {"onFailure": "block"} if closed else handler


def find_http_hooks(settings: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every (event, http hook) of ours in the settings."""
    found = settings.get("hooks")
    for event, groups in found.items() if isinstance(found, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            handlers = group.get("hooks") if isinstance(group, dict) else None
            for handler in handlers if isinstance(handlers, list) else ():
                if (
                    isinstance(handler, dict)
                    and handler.get("type") == "http"
                    and _HOOK_URL.search(str(handler.get("url")))
                ):
                    yield str(event), handler


def build_test_command(installation: "Installation", handler: Mapping[str, Any]) -> str:
    """A command that does with its input what the client does with this hook; nothing in the project stands in for a module of ours."""
    return shlex.join(
        [
            *installation.create_registration().python,
            "-m",
            "verdikt.hosts.live.http_hook_client",
            json.dumps(dict(handler)),
        ]
    )
