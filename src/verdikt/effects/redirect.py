"""Classify redirections: files that a command reads, writes, appends to or empties, and bash's network files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verdikt.effects import host
from verdikt.effects.invocation import SHELLS
from verdikt.effects.target import is_sink
from verdikt.knowledge import find_role
from verdikt.model.effect import Target
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect
    from verdikt.shell.command import Command, Redirect

_NETWORK_DEVICE = compile_lazily(r"^/dev/(?:tcp|udp)/([^/]+)/")
_PRINT_PROGRAMS = find_role("text_source")
_CONCATENATORS = find_role("concatenator")
_ENDLESS_PRINTERS = find_role("endless_printer")
_FILE_WRITING_PROGRAMS = find_role("script_writer")
"""Programs that write files of their own accord, such as `find -fprint`, and put something into them."""
_ENDLESS_DEVICES = ("/dev/zero", "/dev/urandom", "/dev/random", "/dev/full")


def classify_redirect(call: Invocation, redirect: Redirect) -> Sequence[Effect]:
    """Return the effects of one redirection of a command."""
    op, target = redirect.op, redirect.target
    if op in ("<<", "<<-", "<<<") or (op in (">&", "<&") and (target.text.isdigit() or target.text in ("-", ""))):
        return ()
    if target.text == "/dev/null":
        return ()
    if target.text.startswith("/dev/") and (device := _NETWORK_DEVICE.match(target.text)):
        return (_classify_network_file(call, redirect, device.group(1)),)
    if op in ("<", "<&"):
        return call.make_effects("fs.read", [target])
    if op in (">>", "&>>"):
        return call.make_effects("fs.append", [target])
    if op == "<>":
        return call.make_effects("fs.write", [target])
    if op not in (">&", "&>", ">", ">|") or (op == ">&" and not target.is_known):
        return ()
    what = "fs.truncate" if _empties_file(call.command, redirect) else "fs.overwrite"
    effects = call.make_effects(what, [target])
    if _has_endless_output(call.command) and not is_sink(target.text):
        effects.append(call.make_effect("fs.fill", (call.resolve_path(target),)))
    return effects


def _classify_network_file(call: Invocation, redirect: Redirect, name: str) -> Effect:
    """Return the effect of a redirection to bash's `/dev/tcp/host/port`."""
    hosts = (Target(host.parse_host(name), "host"),)
    op = redirect.op
    is_shell = call.name in SHELLS or call.name == "exec" or not call.command.argv
    is_shell = is_shell and not (redirect.fd != 0 and _runs_script(call))
    # What listens on this machine was started here: `exec 3<>/dev/tcp/localhost/6379` talks to a server under test.
    if is_shell and (call.name in SHELLS or not host.is_local_host(name)):
        return call.make_effect("net.shell", hosts, note="a shell over a bare connection")
    if op.startswith("<") and op != "<>":
        return call.make_effect("net.fetch", hosts)
    return call.make_effect("net.local" if host.is_local_host(name) else "net.send", hosts)


def _runs_script(call: Invocation) -> bool:
    """Return whether a shell runs a file, and takes no commands from a connection: what it writes there is data."""
    words = [word.text for word in call.command.argv[1:]]
    is_named = call.name in SHELLS and bool(words) and words[0][:1] not in ("-", "+", "")
    return is_named and not any(r.fd == 0 and r.op != "<<" for r in call.command.redirects)


def _empties_file(command: Command, redirect: Redirect) -> bool:
    """Return whether a redirection leaves its file empty: `> x`, `: > x`, `cat /dev/null > x`, `echo -n > x`."""
    if command.name in _PRINT_PROGRAMS and redirect.fd == 1 and len(command.argv) <= 3:
        words = [word.text for word in command.argv[1:]]
        return (
            (words == ["/dev/null"])
            if command.name in _CONCATENATORS
            else not "".join(words).removeprefix("-n").strip()
        )
    # The shell analysis reports `find -fprint x` as a redirection without a command of its own.
    if not command.argv and command.via and command.via[-1] in _FILE_WRITING_PROGRAMS:
        return False
    return command.name in ("", ":", "true") and redirect.fd == 1 and command.pipe_from is None


def _has_endless_output(command: Command) -> bool:
    """Return whether a command's output never ends."""
    if command.name in _CONCATENATORS:
        return any(word.text in _ENDLESS_DEVICES for word in command.argv[1:])
    return command.name in _ENDLESS_PRINTERS
