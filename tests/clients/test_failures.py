"""Every way in which our own hook could fail, on the real clients: the tool does not run."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.bench import Bench
from tests.clients.table import cells
from tests.contract import native
from verdikt import hosts
from verdikt.hosts.codex import hook_approval
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.hosts.registry import HOSTS
from verdikt.hosts.wiring import json_settings
from verdikt.hosts.wiring.registration import Registration

# A stand-in for the interpreter, which fails in the way that the agent's own command names.
FAILING = r"""#!/bin/sh
payload=$(cat)
deny='{"decision":"block","reason":"no"}'
case $payload in
*mode_crash*) exit 1 ;;
*mode_deny_then_crash*) echo "$deny"; exit 1 ;;
*mode_kill*) kill -9 $$ ;;
*mode_hang*) sleep 60 ;;
*mode_silence*) ;;
*mode_text*) echo fine ;;
*mode_log_first*) echo loading; echo "$deny" ;;
*mode_log_last*) echo "$deny"; echo bye ;;
*mode_truncated*) printf '{"hookSpecificOutput":{"permissionDecision":"deny"}' ;;
*mode_two*) echo '{}'; echo '{}' ;;
*mode_null*) echo '{"decision":"block","reason":null}' ;;
*mode_status_only*) exit 2 ;;
*mode_allow_with_2*) echo '{}'; exit 2 ;;
*) echo '{}' ;;
esac
"""
MODES = [word.strip("*)") for line in FAILING.splitlines() if line.startswith("*mode") for word in line.split()[:1]]


def wire(bench: Bench, registration: Registration) -> None:
    """The client's settings with the hook that decides before an action, and no other."""
    if bench.client.name == "opencode":
        text = (Path(hosts.__file__).parent / "opencode" / "plugin.js").read_text()
        text = text.replace('["verdikt-guard"]', json.dumps([registration.wrapper_path, "5"]))
        text = text.replace('["verdikt-hook"]', json.dumps(registration.build_hook_argv("opencode", "")[:-1]))
        (bench.project / ".opencode/plugin").mkdir(parents=True)
        (bench.project / ".opencode/plugin/verdikt.js").write_text(text)
        return
    place = SETTINGS_LAYOUTS[bench.client.name]
    event = next(event for event in place.events if HOSTS[place.host].events[event].value == "before")
    path = bench.project / place.settings_files["project"]
    path.parent.mkdir(parents=True, exist_ok=True)
    wired = json_settings.add_hooks(
        {}, {event: place.build_entries(registration)[event]}, str(path), place.extra_settings
    )
    path.write_bytes(json_settings.render(wired))
    if place.host == "codex":
        config = bench.home / ".codex/config.toml"
        hashes = hook_approval.compute_hashes(wired, str(path))
        config.write_bytes(hook_approval.approve_hooks(config.read_bytes(), hashes, str(config)))


def quick_wrapper(directory: Path, name: str) -> str:
    """The wrapper with a short patience, so that a hang costs a second."""
    script = directory / "verdikt-wrapper"
    if name == "guard.sh":
        text = native.GUARD.read_text()
        script.write_text(text.replace("seconds=$1 mode=$2", "seconds=1 mode=$2"))
    else:
        script.write_text(f'#!/bin/sh\nshift\nexec {native.client()} 1 "$@"\n')
    script.chmod(0o755)
    return str(script)


# The script is a stand-in for the native client: that it fails as well on two clients is enough.
WRAPPED = [
    *((version, "verdikt-hook") for version in cells("failure")),
    ("claude-2.1.325", "guard.sh"),
    ("codex-0.166.0", "guard.sh"),
]


@pytest.mark.parametrize(("version", "wrapper"), WRAPPED)
def test_a_hook_that_fails_does_not_let_the_tool_run(
    version: str, wrapper: str, bench: Callable[[str], Bench], tmp_path: Path
) -> None:
    """Crash, kill, hang, garbage, silence: blocked. A hook that has no opinion: the tool runs, so the harness is sound."""
    table = bench(version)
    interpreter = tmp_path / "python"
    interpreter.write_text(FAILING)
    interpreter.chmod(0o755)
    wire(table, Registration(wrapper_path=quick_wrapper(tmp_path, wrapper), python=(str(interpreter),)))
    calls = [ModelTurn(mode, (table.shell(f"echo RAN > {mode}"),)) for mode in MODES]
    played = table.play(*calls, ModelTurn("fine", (table.shell("echo RAN > no_failure"),)), ModelTurn("END"))

    assert [mode for mode in MODES if table.ran(mode)] == [], played.run.stderr
    assert table.ran("no_failure"), played.run.stderr
    if table.client.name != "copilot":  # which keeps the reason of a failed hook to itself
        assert played.heard("blocked, because the hook that decides did not work")


@pytest.mark.parametrize("version", cells("missing"))
@pytest.mark.parametrize("missing", ["interpreter", "wrapper"])
def test_a_missing_part_does_not_let_the_tool_run(
    version: str, missing: str, bench: Callable[[str], Bench], tmp_path: Path
) -> None:
    """Somebody has removed the interpreter, or the wrapper itself."""
    table = bench(version)
    guard = quick_wrapper(tmp_path, "verdikt-hook") if missing == "interpreter" else str(tmp_path / "verdikt-gone")
    python = sys.executable if missing == "wrapper" else str(tmp_path / "gone")
    wire(table, Registration(wrapper_path=guard, python=(python, "-I")))
    played = table.play(ModelTurn("go", (table.shell("echo RAN > ran.txt"),)), ModelTurn("END"))

    assert not table.ran("ran.txt"), played.run.stdout
    assert played.turns == 2
    told = "hook exited with code 2" if table.client.name == "copilot" else "verdikt"
    assert told in json.dumps(played.model.requests[-1])


def test_every_failure_mode_is_tried() -> None:
    """The table above is what the hook says it can do."""
    assert len(MODES) == 13
