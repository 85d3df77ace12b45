"""Every way in which our own hook can fail, on the real clients: the tool does not run."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.clients.bench import Bench
from tests.clients.table import BLOCKS, RUNS, WAITS, WHEN_STOPPED, list_clients
from tests.contract import native
from verdikt import hosts
from verdikt.hosts.codex import hook_approval
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.hosts.registry import HOSTS, load_wiring
from verdikt.hosts.wiring import json_settings
from verdikt.hosts.wiring.client_version import is_at_least
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


def wire(bench: Bench, registration: Registration) -> str:
    """Wire the hook that decides before an action, and no other; return the wired line."""
    host = HOSTS[bench.client.name]
    if host.name == "opencode":
        text = (Path(hosts.__file__).parent / "opencode" / "plugin.js").read_text()
        text = text.replace('["verdikt-guard"]', json.dumps([registration.wrapper_path, "5"]))
        text = text.replace("MILLISECONDS = 30000", "MILLISECONDS = 8000")
        text = text.replace('["verdikt-hook"]', json.dumps(registration.build_hook_argv("opencode", "")[:-1]))
        (bench.project / ".opencode/plugin").mkdir(parents=True)
        (bench.project / ".opencode/plugin/verdikt.js").write_text(text)
        return text
    event = host.find_event(HookEventKind.BEFORE)
    path = bench.project / host.settings_files["project"]
    path.parent.mkdir(parents=True, exist_ok=True)
    wiring, version = load_wiring(host.name), bench.version.partition("-")[2]
    by_host = is_at_least(version, host.blocks_on_failure_since)
    entry = wiring.build_entries(registration, host_blocks_on_failure=by_host)[event]
    if is_at_least(version, host.takes_arguments_since):
        entry = wiring.split_arguments(entry)
    wired = json_settings.add_hooks({}, {event: entry}, str(path), host.extra_settings)
    path.write_bytes(json_settings.render(wired))
    if host.name == "codex":
        config = bench.home / ".codex/config.toml"
        hashes = hook_approval.compute_hashes(wired, str(path))
        config.write_bytes(hook_approval.approve_hooks(config.read_bytes(), hashes, str(config)))
    return dict(json_settings.find_hook_commands(wired))[event]


def write_script(path: Path, text: str) -> str:
    """Write an executable script and return its path."""
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def create_impatient_wrapper(directory: Path, name: str) -> str:
    """Return a wrapper that waits for one second only, so that a hang costs no more."""
    if name == "guard.sh":
        text = native.GUARD.read_text().replace("seconds=$1 mode=$2", "seconds=1 mode=$2")
    else:
        text = f'#!/bin/sh\nshift\nexec {native.client()} 1 "$@"\n'
    return write_script(directory / "verdikt-wrapper", text)


# The script stands in for the native client: two clients are enough to show that it fails in the same way.
WRAPPED = [
    *((version, "verdikt-hook") for version in list_clients("failure")),
    ("claude-2.1.325", "guard.sh"),
    ("codex-0.166.0", "guard.sh"),
]


# Script of the wrapper, and the mode of its file. Without a script there is no wrapper at all.
BROKEN_WRAPPERS = {
    "missing": ("", 0),
    "not executable": ("#!/bin/sh\necho '{}'\n", 0o644),
    "killed": ("#!/bin/sh\nkill -9 $$\n", 0o755),
    "crashed": ("#!/bin/sh\nkill -SEGV $$\n", 0o755),
    "ended with 1": ("#!/bin/sh\nexit 1\n", 0o755),
    "without its interpreter": ("#!/gone/interpreter\n", 0o755),
}
MISSING_INTERPRETER = "the interpreter of the hook is missing"


@pytest.mark.parametrize(("version", "wrapper_name"), WRAPPED)
def test_a_hook_or_a_wrapper_that_fails_blocks_the_tool(
    version: str, wrapper_name: str, create_bench: Callable[[str], Bench], tmp_path: Path
) -> None:
    """After a crash, a kill, a hang, garbage or silence the tool does not run; with no opinion it does.

    One session meets every failure. The hook fails in the way that the command names. Then its interpreter is removed,
    and at last the wrapper is replaced before the turn that is named like its state.
    """
    bench = create_bench(version)
    interpreter = write_script(tmp_path / "python", FAILING)
    wrapper = Path(create_impatient_wrapper(tmp_path, wrapper_name))
    line = wire(bench, Registration(wrapper_path=str(wrapper), python=(interpreter,)))

    def break_hook(turn: str) -> None:
        if turn == MISSING_INTERPRETER:
            Path(interpreter).unlink()
        if turn in BROKEN_WRAPPERS:
            script, mode = BROKEN_WRAPPERS[turn]
            wrapper.unlink(missing_ok=True)
            if script:
                write_script(wrapper, script)
                wrapper.chmod(mode)

    broken = {kind: f"broken_{number}" for number, kind in enumerate((MISSING_INTERPRETER, *BROKEN_WRAPPERS))}
    files = {**{mode: mode for mode in MODES}, "fine": "no_failure", **broken}
    turns = [ModelTurn(kind, (bench.shell(f"echo RAN > {file}"),)) for kind, file in files.items()]
    session = bench.play(*turns, ModelTurn("END"), before_turn=break_hook)

    assert [kind for kind, file in files.items() if bench.has_file(file)] == ["fine"], session.run.stdout
    assert session.turn_count == len(turns) + 1
    if bench.client.name != "copilot":  # it does not show the reason of a failed hook
        assert session.has_received("blocked, because the hook that decides did not work")
    check_line(version, line)


def check_line(version: str, line: str) -> None:
    """Check that the wired line is a single command exactly where the host blocks by itself."""
    is_single_command = version in ("claude-2.1.325", "copilot-1.0.102")
    assert line.startswith("exec ") == is_single_command
    if not version.startswith("opencode"):  # its plugin starts the wrapper without a shell
        assert ("||" in line) == (not is_single_command)


STOPPED = """#!/bin/sh
echo $$ > {pid_file}
kill -STOP $$
echo '{{}}'
"""
CLIENT_SECONDS, PATIENCE_SECONDS = 3, 20


@pytest.mark.parametrize("version", list_clients("missing"))
def test_a_wrapper_that_is_stopped_leaves_it_to_the_client(
    version: str, create_bench: Callable[[str], Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal needs no rights beyond the account's; what follows is each client's own choice."""
    for name in ("claude", "codex", "copilot", "gemini"):
        monkeypatch.setattr(f"verdikt.hosts.{name}.wiring.CLIENT_TIMEOUT_SECONDS", CLIENT_SECONDS)
    bench = create_bench(version)
    pid_file = tmp_path / "pid"
    wrapper = write_script(tmp_path / "verdikt-stopped", STOPPED.format(pid_file=pid_file))
    wire(bench, Registration(wrapper_path=wrapper, python=(sys.executable, "-I")))
    waiting: list[bool] = []
    session_ended = threading.Event()

    def end_wrapper() -> None:
        waiting.append(not bench.has_file("ran.txt"))
        with suppress(ProcessLookupError, FileNotFoundError):
            os.kill(int(pid_file.read_text()), signal.SIGKILL)  # a stopped process hears no other signal

    def lose_patience() -> None:
        # Counted from the wrapper's start: how long a client takes to get there depends on the machine.
        while not pid_file.exists():
            if session_ended.wait(0.1):
                return
        if not session_ended.wait(PATIENCE_SECONDS):
            end_wrapper()

    watcher = threading.Thread(target=lose_patience)
    watcher.start()
    try:
        session = bench.play(ModelTurn("go", (bench.shell("echo RAN > ran.txt"),)), ModelTurn("END"))
    finally:
        session_ended.set()
        watcher.join()
        is_waiting = bool(waiting)
        end_wrapper()

    assert pid_file.exists(), session.run.stderr
    has_run = bench.has_file("ran.txt")
    found = BLOCKS if not has_run else WAITS if is_waiting and waiting[0] else RUNS
    assert found == WHEN_STOPPED[version], session.run.stdout


def test_init_with_a_client_that_blocks_by_itself_wires_a_single_command(create_bench: Callable[[str], Bench]) -> None:
    """The installed version decides: before 2.1.295 Claude Code runs the tool when the wrapper is missing."""
    lines = {}
    for version in ("claude-2.1.325", "claude-2.1.197"):
        bench = create_bench(version)
        bench.govern(scope="local")
        settings = json.loads((bench.project / ".claude/settings.local.json").read_text())
        lines[version] = dict(json_settings.find_hook_commands(settings))["PreToolUse"]
        doctor = bench.run_verdikt("doctor", "--calls", "1")
        assert doctor.returncode == 0, doctor.stdout

    assert lines["claude-2.1.325"].startswith("exec /")
    assert "||" not in lines["claude-2.1.325"]
    assert lines["claude-2.1.197"].endswith("|| { [ $? = 2 ] || echo 'verdikt: blocked' >&2; exit 2; }")


def test_every_failure_mode_is_tried() -> None:
    """A mode that is lost from the script would otherwise no longer be tested."""
    assert len(MODES) == 13
