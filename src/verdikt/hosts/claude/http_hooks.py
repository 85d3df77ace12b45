"""Http hooks, which people wire by hand: their settings, and the command with which the doctor tries them."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from verdikt.errors import WiringError
from verdikt.hosts.claude import HOST
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.registration import CLIENT_TIMEOUT_SECONDS
from verdikt.model.lazy_regex import compile_lazily

TOKEN_VARIABLE = "VERDIKT_TOKEN"
"""The variable with the token, which the client must be started with."""

_ENTRYPOINT_VARIABLE = "CLAUDE_CODE_ENTRYPOINT"

_HOOK_URL = compile_lazily(r"^http://(127\.0\.0\.1|localhost):\d{1,5}/hook/")


def build_settings(installation: Installation, port: int) -> dict[str, Any]:
    """Return settings for a project whose hooks ask at that port."""
    if not installation.project.isascii():
        raise WiringError(
            f"expected a project whose path fits into a header, found `{installation.project}`; use `verdikt init`"
        )
    # The client calls no address at SessionStart, so that event stays a command.
    start = shlex.join(installation.create_registration().build_hook_argv(HOST.name, "SessionStart"))
    command = {"type": "command", "command": start, "timeout": CLIENT_TIMEOUT_SECONDS}
    handlers = {event: _build_handler(installation.project, event, port) for event in HOST.wired_events}
    handlers["SessionStart"] = command
    return {"hooks": {event: [{"matcher": "*", "hooks": [handler]}] for event, handler in handlers.items()}}


def _build_handler(project: str, event_name: str, port: int) -> dict[str, Any]:
    handler = {
        "type": "http",
        "url": f"http://127.0.0.1:{port}/hook/{HOST.name}/{event_name}",
        "timeout": CLIENT_TIMEOUT_SECONDS,
        # The client passes its variables to commands only. The project is written out, because the directory in the
        # payload is the one that the agent has changed to.
        "headers": {
            "Authorization": f"Bearer ${TOKEN_VARIABLE}",
            "X-Verdikt-CLAUDE_PROJECT_DIR": project,
            f"X-Verdikt-{_ENTRYPOINT_VARIABLE}": f"${_ENTRYPOINT_VARIABLE}",
        },
        "allowedEnvVars": [TOKEN_VARIABLE, _ENTRYPOINT_VARIABLE],
    }
    return handler | {"onFailure": "block"} if HOST.events[event_name].fails_closed else handler


def find_http_hooks(settings: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every (event, http hook) of ours in the settings."""
    hooks = settings.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            handlers = group.get("hooks") if isinstance(group, dict) else None
            for handler in handlers if isinstance(handlers, list) else ():
                if (
                    isinstance(handler, dict)
                    and handler.get("type") == "http"
                    and _HOOK_URL.search(str(handler.get("url")))
                ):
                    yield str(event), handler


def build_test_command(installation: Installation, handler: Mapping[str, Any]) -> str:
    """Return a command that does with its input what the client does with this hook."""
    python = installation.create_registration().python
    return shlex.join([*python, "-m", "verdikt.hosts.claude.http_hook_client", json.dumps(dict(handler))])
