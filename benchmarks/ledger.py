"""The speed of the log as ratios within one run: `python benchmarks/ledger.py`.

- appending to a log of 10^3, 10^5 and 10^6 entries, in one process and in a new one, with and without fsync;
- verifying, as a multiple of `json.loads` and `sha256` over the same lines;
- eight processes appending to one session;
- replaying decisions, per CPU second.
"""

import hashlib
import json
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from verdikt.cli.replay import tune_garbage_collector
from verdikt.govern import Governance
from verdikt.ledger.audit import audit
from verdikt.ledger.chain_verifier import verify_chain
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import Projection, load_projections
from verdikt.ledger.state_database import StateRow
from verdikt.model.action import Action, ActionKind
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import GENESIS_HASH, decode_entry
from verdikt.policy import parse_policy
from verdikt.replay import find_differences, read_decision, replay

COUNT = Projection(name="count", initial=0, fold=lambda state, entry: state + 1)
LENGTHS = (1_000, 100_000, 1_000_000)
BODY = {
    "receipt": {
        "action": {"tool": "Bash", "kind": "bash", "payload": {"command": "git status --short && ls -la src"}},
        "verdict": {"kind": "pass", "guard": "all", "reason": "", "fix": ""},
        "classes": ["execute", "read"],
    }
}


def write_log(home: Path, length: int) -> None:
    """Write a store with one session of that length, without the store's own `append`, which would take minutes."""
    store = FileStore(home, projections=(COUNT,), checkpoint_every=10**9)
    body = json.dumps(BODY, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(body.encode()).hexdigest()
    prev = GENESIS_HASH
    with open(home / "ledger" / "s.jsonl", "wb", buffering=1 << 20) as file:
        for seq in range(1, length + 1):
            payload = (
                f'{{"body_sha256":"{digest}","kid":"","kind":"decision","prev":"{prev}","seq":{seq},"session":"s",'
                f'"ts":{seq},"v":2'
            )
            prev = hashlib.sha256(f"{payload}}}".encode()).hexdigest()
            file.write(f'{payload},"hash":"{prev}","sig":"","body":{body}}}\n'.encode())
        file.flush()
        os.fsync(file.fileno())  # else the first appends would pay for it
    with store.state.write_transaction() as db:
        db.put_state("s", "count", StateRow(1, length, str(length)))
        db.put_head("s", ChainHead(length, prev), frozenset({COUNT.label}))
    store.close()


def measure_microseconds(work: Callable[[], object]) -> float:
    """Return the microseconds of one call."""
    started_at = time.perf_counter()
    work()
    return (time.perf_counter() - started_at) * 1e6


def print_append_costs(directory: Path) -> None:
    """Print the cost of an append at three lengths; they take turns, so that a busy machine is busy for all."""
    for length in LENGTHS:
        write_log(directory / str(length), length)
    kinds: dict[str, tuple[bool, bool, int]] = {
        "same process, no fsync": (False, False, 2000),
        "same process, fsync": (True, False, 500),
        "new process, no fsync": (False, True, 300),
        "new process, fsync": (True, True, 300),
    }
    print(f"{'append, µs (median)':<24}" + "".join(f"{length:>12,}" for length in LENGTHS) + f"{'worst ratio':>14}")
    for name, (durable, is_new_process, count) in kinds.items():
        samples: dict[int, list[float]] = {length: [] for length in LENGTHS}
        stores = {length: _open_store(directory, length, durable) for length in LENGTHS}
        for _ in range(count):
            for length, store in stores.items():
                samples[length].append(
                    _append_in_new_process(directory, length, durable) if is_new_process else _append(store)
                )
        for store in stores.values():
            store.close()
        medians = {length: statistics.median(values) for length, values in samples.items()}
        ratio = max(medians.values()) / min(medians.values())
        print(f"{name:<24}" + "".join(f"{medians[length]:>12.0f}" for length in LENGTHS) + _render_bar(ratio, 1.2))


def _open_store(directory: Path, length: int, durable: bool) -> FileStore:
    return FileStore(directory / str(length), projections=(COUNT,), durable=durable, checkpoint_every=10**9)


def _append(store: FileStore) -> float:
    return measure_microseconds(lambda: store.append("s", "decision", BODY))


def _append_in_new_process(directory: Path, length: int, durable: bool) -> float:
    """Return the microseconds from opening the store to the written entry, in a process with everything imported."""
    read_fd, write_fd = os.pipe()
    if os.fork() == 0:
        started_at = time.perf_counter()
        _open_store(directory, length, durable).append("s", "decision", BODY)
        os.write(write_fd, str((time.perf_counter() - started_at) * 1e6).encode())
        os._exit(0)
    os.wait()
    microseconds = float(os.read(read_fd, 100))
    os.close(read_fd)
    os.close(write_fd)
    return microseconds


def print_verify_cost(directory: Path) -> None:
    """Print the cost of verification as a multiple of the least that it could do."""
    lines = (directory / "100000" / "ledger" / "s.jsonl").read_bytes().splitlines(keepends=True)

    def parse_and_hash() -> None:
        for line in lines:
            json.loads(line)
            hashlib.sha256(line).hexdigest()

    def verify() -> None:
        assert verify_chain(lambda: lines, session="s").is_intact

    floors, verifications = [], []
    for _ in range(5):
        floors.append(measure_microseconds(parse_and_hash))
        verifications.append(measure_microseconds(verify))
    ratio = min(verifications) / min(floors)
    print(
        f"\nverify {len(lines):,} entries: {min(verifications) / 1e6:.2f} s;"
        f" json.loads + sha256: {min(floors) / 1e6:.2f} s" + _render_bar(ratio, 3.0)
    )


def _append_many(home: str, count: int) -> None:
    store = FileStore(Path(home), projections=(COUNT,))
    for _ in range(count):
        store.append("s", "decision", BODY)


def print_contention(directory: Path) -> None:
    """Print how many entries eight processes append to one session, with fsync, and whether the chain is intact."""
    home = directory / "contended"
    FileStore(home).append("warm-up", "decision", BODY)
    workers = [multiprocessing.Process(target=_append_many, args=(str(home), 500)) for _ in range(8)]
    started_at = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - started_at
    alone = FileStore(directory / "alone", projections=(COUNT,))
    started_at = time.perf_counter()
    for _ in range(500):
        alone.append("s", "decision", BODY)
    seconds_alone = time.perf_counter() - started_at
    kinds = [
        decode_entry(line).kind.value for line in (home / "ledger" / "s.jsonl").read_bytes().splitlines(keepends=True)
    ]
    count = FileStore(home, projections=(COUNT,)).read_projection("count", "s")
    print(
        f"\n8 processes × 500 appends: {kinds.count('decision'):,} decisions"
        f" and {kinds.count('checkpoint')} checkpoints,"
        f" counter {count:,}, chain {'intact' if audit(home).is_intact else 'BROKEN'}"
    )
    print(
        f"appends per second with fsync: {4000 / seconds:,.0f} from eight processes,"
        f" {500 / seconds_alone:,.0f} from one,"
        f" {4000 / seconds * seconds_alone / 500:.2f}× as many"
    )


COMMANDS = (
    "git status --short && git diff --stat",
    "cd src && pytest -q tests/unit -k 'not slow' 2>&1 | tail -20",
    "rm -rf build dist && python -m build",
    "for f in $(git ls-files '*.py'); do wc -l $f; done | sort -n | tail",
    "curl -fsS https://example.com/data.json | jq '.items[] | .name'",
    "find . -name '*.pyc' -delete; grep -rn TODO src | head -50",
    "git push --force origin main",
    "export API_TOKEN=0a1b2c3d4e5f6g7h8i9j && ./deploy.sh staging",
)


def print_replay_rate(directory: Path) -> None:
    """Print how many decisions on ordinary commands, each a little different, are replayed per CPU second."""
    policy = parse_policy("profile: standard")
    store = FileStore(directory / "decided", projections=load_projections(), durable=False)
    governance = Governance(policy, store)
    for number in range(2_000):
        command = f"{COMMANDS[number % len(COMMANDS)]} # {number}"
        governance.before(Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, cwd=str(directory)))
    tune_garbage_collector()  # as `verdikt replay` does
    rates = []
    for _ in range(3):
        started_at = time.process_time()
        decisions = (decision for entry in store.read_entries("default") if (decision := read_decision(entry)))
        same_count = sum(not find_differences(decision, replay(decision, policy)) for decision in decisions)
        rates.append(2_000 / (time.process_time() - started_at))
    store.close()
    rate = max(rates)
    is_met = "yes" if rate >= 2_000 else "NO"
    print(f"\nreplay 2,000 decisions, {same_count:,} the same: {rate:,.0f} per CPU second  (at least 2,000: {is_met})")


def _render_bar(ratio: float, limit: float) -> str:
    return f"{ratio:>13.2f}×  (at most {limit}: {'yes' if ratio <= limit else 'NO'})"


def main() -> None:
    """Run all measurements in a directory that is removed afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="verdikt-bench-"))
    try:
        print_append_costs(directory)
        print_verify_cost(directory)
        print_contention(directory)
        print_replay_rate(directory)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
