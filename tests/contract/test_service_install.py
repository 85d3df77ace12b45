"""`verdikt init --service` as root, on a copy of this machine: its users cannot reach the log of the service."""

import json
import shlex
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.contract.test_daemon_system import ALICE, build_command

pytestmark = pytest.mark.root

MACHINE = Path(__file__).with_name("service_machine.sh")
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
FIRE = """
line=$({python} -I -c 'import json
settings = json.load(open("/etc/claude-code/managed-settings.json"))
print(settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"])')
mkdir -p /run/project && chown {user} /run/project && cd /run/project
as_user() {{ setpriv --reuid={user} --regid={user} --clear-groups env -i HOME=/run/project PATH=/usr/bin:/bin "$@"; }}
set +e
for payload in {payloads}; do
    printf %s "$payload" | as_user sh -c "$line" > /dev/null
    echo "status $?"
done
as_user cat /var/lib/verdikt/users/{user}/ledger/s.jsonl
wc -l < /var/lib/verdikt/users/{user}/ledger/s.jsonl
stat -c %U /var/lib/verdikt/users/{user}/ledger/s.jsonl
"""


def _build_payload(command: str) -> str:
    call = {"session_id": "s", "cwd": "/run/project", "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return json.dumps(call | {"tool_input": {"command": command}, "tool_use_id": command})


def test_service_that_init_installs_decides_for_a_user_who_cannot_read_its_log() -> None:
    """Unit, user, environment, hooks and policy are in place, and a call of another user is decided and recorded."""
    init = build_command("verdikt", "init", "--service", "--host", "claude")
    payloads = " ".join(shlex.quote(_build_payload(command)) for command in ("rm -rf /usr", "ls"))
    script = f"cd /\n{shlex.join(init)}\n" + FIRE.format(python=shlex.quote(init[0]), user=ALICE, payloads=payloads)
    env = {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    with tempfile.TemporaryDirectory() as directory:
        machine = [*NAMESPACES, "sh", str(MACHINE), directory]
        probe = subprocess.run([*machine, "true"], env=env, capture_output=True, text=True, check=False)
        if probe.returncode:
            pytest.skip(f"this machine can't be copied in namespaces: {probe.stderr.strip()}")
        completed = subprocess.run(
            [*machine, "sh", "-ec", script], env=env, capture_output=True, text=True, check=False, timeout=120
        )

    output = completed.stdout.splitlines()
    assert output[-4:] == ["status 2", "status 0", "2", "verdikt"], completed
    assert "Permission denied" in completed.stderr
    assert not Path("/etc/systemd/system/verdikt.service").exists()
