"""What a hook call costs on a machine that sends its log to a service that is there, absent, silent, slow or wrong.

Six data directories have a warm process each, five of them with a sender beside it. Their hook calls take turns in
random order; printed is the time of each divided by that of the machine that sends nothing. The bar is on CPU time, of
hook and warm process: wall time depends on what else the machine does, and the senders are a part of that.

    make bench      or      .venv/bin/python benchmarks/team_hook.py
"""

import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.unit.serve.team_server import run_team

from benchmarks.hook import Workspace, measure_commands, open_workspaces
from verdikt.ship.machine_identity import Enrolment, MachineIdentity

ALONE = "sends nothing"
BAR = 1.02
ROUNDS = 25


def main() -> int:
    """Measure and print; the exit status is 1 when a call costs more CPU time than the bar allows."""
    with tempfile.TemporaryDirectory(prefix="vth-") as directory, ExitStack() as stack:
        root = Path(directory)
        team = stack.enter_context(run_team(f"sqlite:///{root / 'team.db'}"))
        urls = {
            "service absent": "http://127.0.0.1:1",
            "black hole": stack.enter_context(run_server(lambda client: time.sleep(3600))),
            "one byte a second": stack.enter_context(run_server(trickle)),
            "rubbish": stack.enter_context(run_server(lambda client: client.sendall(b"\0rubbish\xff" * 1000))),
        }
        names = [ALONE, "service present", *urls]
        workspaces = stack.enter_context(open_workspaces(*(root / str(number) for number in range(len(names)))))
        team.enrol(workspaces[1].data)
        for workspace, url in zip(workspaces[2:], urls.values(), strict=True):
            enrol(workspace, url)
        commands = {name: workspace.build_warm_command() for name, workspace in zip(names, workspaces, strict=True)}
        samples = measure_commands(commands, {}, ROUNDS)
    print(f"{'a hook call, times that of the first':<44}{'least':>10}{'median':>10}{'CPU':>10}")
    for name in names:
        print(f"{name:<44}{samples[name].render_ratios(samples[ALONE])}")
    base = statistics.median(samples[ALONE].cpu)
    worst = max(statistics.median(samples[name].cpu) for name in names) / base
    print(f"{'CPU time of the worst':<64}{worst:>10.2f}   bar {BAR:g}: {'ok' if worst <= BAR else 'MISSED'}")
    return 0 if worst <= BAR else 1


def enrol(workspace: Workspace, url: str) -> None:
    """Let a machine believe that it is enrolled at an address."""
    identity = MachineIdentity(workspace.data)
    identity.load_or_create_key()
    identity.save_enrolment(Enrolment(url, 1))


@contextmanager
def run_server(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Yield the address of a server that treats each client in its own way."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    client = listener.accept()[0]
                except OSError:
                    return
                threading.Thread(target=serve, args=(client,), daemon=True).start()

        def serve(client: socket.socket) -> None:
            with client:
                try:
                    client.recv(65_536)
                    answer(client)
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def trickle(client: socket.socket) -> None:
    """Send an answer byte by byte."""
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b" " * 3600:
        client.sendall(bytes([byte]))
        time.sleep(1)


if __name__ == "__main__":
    sys.exit(main())
