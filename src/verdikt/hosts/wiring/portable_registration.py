"""The command line of settings that a team commits: the same on every machine, and clear where verdikt is missing."""

import shlex

from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.registry import get_host, load_adapter
from verdikt.hosts.wiring.registration import BLOCK_IF_MISSING, LAUNCHER
from verdikt.model.action import Action, ActionKind
from verdikt.model.distribution import INSTALL_COMMAND

MISSING_TEXT = (
    "this project is governed by verdikt, which is not installed here, so nothing runs: ask the person to run "
    f"`{INSTALL_COMMAND}` and to start the session again"
)
"""What a colleague without verdikt gets, in one line without quotes and backslashes, which a shell would interpret."""

# The data directory comes before PATH: an agent can't write there, but it can in the `bin` of a project's environment.
_LAUNCHER_PATH = f'"${{VERDIKT_HOME:-${{XDG_DATA_HOME:-$HOME/.local/share}}/verdikt}}/hooks/{LAUNCHER}"'
_FIND_LAUNCHER = f'v={_LAUNCHER_PATH}; [ -x "$v" ] || v=$(command -v {LAUNCHER}) || {{ %s; }}'


class PortableRegistration:
    """Finds the launcher in the data directory or on PATH. The syntax is that of every POSIX shell."""

    def build_command_line(
        self, host: str, event_name: str, *, fail_closed: bool, host_blocks_on_failure: bool = False
    ) -> str:
        """Return the line for a host's settings.

        With `fail_closed` a missing verdikt blocks, whatever the host would do: colleagues may have another version.
        """
        mode = "closed" if fail_closed else "open"
        find = _FIND_LAUNCHER % _answer_without_verdikt(host, event_name)
        line = f'{find}; "$v" {shlex.join([mode, host, event_name])}'
        return f"{line} || {BLOCK_IF_MISSING}" if fail_closed else line


def _answer_without_verdikt(host: str, event_name: str) -> str:
    """Return the shell command that answers in the form of the host: a block, a note at the start, or nothing."""
    kind = get_host(host).events.get(event_name, HookEventKind.BEFORE)
    decision = HostDecision.block(MISSING_TEXT)
    if kind is HookEventKind.START:
        decision = HostDecision(context=decision.reason, notice=decision.reason)
    elif kind not in (HookEventKind.BEFORE, HookEventKind.PERMISSION):
        # A changed configuration may be the colleague who takes the hooks out; without actions it can do no harm.
        return "exit 0"
    # Adapters ask whether there is an action, and look no further into it.
    event = HookEvent(kind=kind, host=host, name=event_name, action=Action(kind=ActionKind.OTHER, tool="any"))
    response = load_adapter(host).encode(event, decision)
    commands = [f"echo {shlex.quote(response.stdout)}", f"exit {response.exit_code}"]
    # With status 2 some hosts need a word on stderr to block, and with a document none shows the whole line.
    return "; ".join([f"echo {shlex.quote(response.stderr)} >&2", *commands] if response.stderr else commands)
