"""Http hooks, which people wire by hand: what their settings look like, and how the doctor tries them."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from verdikt import adapters
from verdikt.adapters.wiring.place import PLACES
from verdikt.adapters.wiring.registration import CLIENT_SECONDS
from verdikt.errors import WiringError
from verdikt.model.regex import regex

if TYPE_CHECKING:
    from verdikt.adapters.wiring.install import Installation

HOST = "claude"
"""The one host with http hooks."""

TOKEN = "VERDIKT_TOKEN"
"""The variable that the client must be started with."""

_OURS = regex(r"^http://(127\.0\.0\.1|localhost):\d{1,5}/hook/")


def hooks(here: "Installation", port: int) -> dict[str, Any]:
    """Settings for a project: its hooks as addresses at that port, and as a command where the client calls no address."""
    if not here.project.isascii():
        raise WiringError(
            f"expected a project whose path fits into a header, found `{here.project}`; use `verdikt init`"
        )
    place = PLACES[HOST]
    start = shlex.join(here.registration().hook(HOST, "SessionStart"))
    command = {"matcher": "*", "hooks": [{"type": "command", "command": start, "timeout": CLIENT_SECONDS}]}
    return {
        "hooks": {
            event: [
                command
                if event == "SessionStart"  # for which the client calls no address
                else {"matcher": "*", "hooks": [_handler(here.project, event, port)]}
            ]
            for event in place.events
        }
    }


def _handler(project: str, event: str, port: int) -> dict[str, Any]:
    seen = "CLAUDE_CODE_ENTRYPOINT"
    handler = {
        "type": "http",
        "url": f"http://127.0.0.1:{port}/hook/{HOST}/{event}",
        "timeout": CLIENT_SECONDS,
        # Which project it is, the client tells commands and not addresses; where the agent has gone meanwhile is no answer.
        "headers": {
            "Authorization": f"Bearer ${TOKEN}",
            "X-Verdikt-CLAUDE_PROJECT_DIR": project,
            f"X-Verdikt-{seen}": f"${seen}",
        },
        "allowedEnvVars": [TOKEN, seen],
    }
    closed = adapters.host(HOST).EVENTS[event].closed
    return handler | {"onFailure": "block"} if closed else handler


def posts(settings: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every (event, http hook) of ours in the settings."""
    found = settings.get("hooks")
    for event, groups in found.items() if isinstance(found, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            handlers = group.get("hooks") if isinstance(group, dict) else None
            for handler in handlers if isinstance(handlers, list) else ():
                if (
                    isinstance(handler, dict)
                    and handler.get("type") == "http"
                    and _OURS.search(str(handler.get("url")))
                ):
                    yield str(event), handler


def command(here: "Installation", handler: Mapping[str, Any]) -> str:
    """A command that does with its input what the client does with this hook; nothing in the project stands in for a module of ours."""
    return shlex.join([*here.registration().python, "-m", "verdikt.adapters.live.post", json.dumps(dict(handler))])
