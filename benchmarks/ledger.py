"""The log's speed as ratios within one run: `python benchmarks/ledger.py`.

- appending to a log of 10^3, 10^5 and 10^6 entries, warm and as a new process would, with and without fsync;
- verifying against the floor: `json.loads` + `sha256` over the same lines;
- eight processes appending to one session;
- deciding again what was decided, per CPU second.
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
from verdikt.ledger.store import ChainHead
from verdikt.model.action import Action, ActionKind
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


def build(home: Path, length: int) -> FileStore:
    """A store with one session of that length, written in bulk."""
    store = FileStore(home, projections=(COUNT,), checkpoint_every=10**9)
    body = json.dumps(BODY, sort_keys=True, separators=(",", ":"))
    prev = GENESIS_HASH
    with open(home / "ledger" / "s.jsonl", "wb", buffering=1 << 20) as file:
        for seq in range(1, length + 1):
            payload = (
                f'{{"body":{body},"kid":"","kind":"decision","prev":"{prev}","seq":{seq},"session":"s","ts":{seq},"v":1'
            )
            prev = hashlib.sha256(f"{payload}}}".encode()).hexdigest()
            file.write(f'{payload},"hash":"{prev}","sig":""}}\n'.encode())
        file.flush()
        os.fsync(file.fileno())  # or the first appends would pay for it
    with store.state.write_transaction() as db:
        db.put_state("s", "count", StateRow(1, length, str(length)))
        db.put_head("s", ChainHead(length, prev), frozenset({COUNT.label}))
    store.close()
    return store


def measure(work: Callable[[], object]) -> float:
    """Microseconds of one call."""
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e6


def appending(place: Path) -> None:
    """The same append at three lengths, in turns, so that a busy machine is busy for all of them."""
    for length in LENGTHS:
        build(place / str(length), length)
    kinds: dict[str, tuple[bool, bool, int]] = {
        "warm, no fsync": (False, False, 2000),
        "warm, fsync": (True, False, 500),
        "new process, no fsync": (False, True, 300),
        "new process, fsync": (True, True, 300),
    }
    print(f"{'append, µs (median)':<24}" + "".join(f"{length:>12,}" for length in LENGTHS) + f"{'worst ratio':>14}")
    for name, (durable, cold, times) in kinds.items():
        taken: dict[int, list[float]] = {length: [] for length in LENGTHS}
        stores = {length: _store(place, length, durable) for length in LENGTHS}
        works = {length: _work(place, length, durable, None if cold else stores[length]) for length in LENGTHS}
        for _ in range(times):
            for length, work in works.items():
                taken[length].append(work())
        for store in stores.values():
            store.close()
        best = {length: statistics.median(many) for length, many in taken.items()}
        ratio = max(best.values()) / min(best.values())
        print(f"{name:<24}" + "".join(f"{best[length]:>12.0f}" for length in LENGTHS) + _judged(ratio, 1.2))


def _store(place: Path, length: int, durable: bool) -> FileStore:
    return FileStore(place / str(length), projections=(COUNT,), durable=durable, checkpoint_every=10**9)


def _work(place: Path, length: int, durable: bool, store: FileStore | None) -> Callable[[], float]:
    if store is not None:
        return lambda: measure(lambda: store.append("s", "decision", BODY))

    return lambda: _in_a_new_process(place, length, durable)


def _in_a_new_process(place: Path, length: int, durable: bool) -> float:
    """Microseconds from opening the store to the entry on the disk, in a process that has imported everything."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        begin = time.perf_counter()
        _store(place, length, durable).append("s", "decision", BODY)
        os.write(writing, str((time.perf_counter() - begin) * 1e6).encode())
        os._exit(0)
    os.wait()
    taken = float(os.read(reading, 100))
    os.close(reading)
    os.close(writing)
    return taken


def verifying(place: Path) -> None:
    """Verification against the least that it could do."""
    lines = (place / "100000" / "ledger" / "s.jsonl").read_bytes().splitlines(keepends=True)

    def floor() -> None:
        for line in lines:
            json.loads(line)
            hashlib.sha256(line).hexdigest()

    def verify() -> None:
        assert verify_chain(lambda: lines, session="s").is_intact

    floors, verifies = [], []
    for _ in range(5):
        floors.append(measure(floor))
        verifies.append(measure(verify))
    ratio = min(verifies) / min(floors)
    print(
        f"\nverify {len(lines):,} entries: {min(verifies) / 1e6:.2f} s; json.loads + sha256: {min(floors) / 1e6:.2f} s"
        + _judged(ratio, 3.0)
    )


def _append_many(home: str, count: int) -> None:
    store = FileStore(Path(home), projections=(COUNT,))
    for _ in range(count):
        store.append("s", "decision", BODY)


def contending(place: Path) -> None:
    """Eight processes, one session, fsync on."""
    home = place / "contended"
    FileStore(home).append("warm-up", "decision", BODY)
    workers = [multiprocessing.Process(target=_append_many, args=(str(home), 500)) for _ in range(8)]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - begin
    alone = FileStore(place / "alone", projections=(COUNT,))
    begin = time.perf_counter()
    for _ in range(500):
        alone.append("s", "decision", BODY)
    single = time.perf_counter() - begin
    kinds = [
        decode_entry(line).kind.value for line in (home / "ledger" / "s.jsonl").read_bytes().splitlines(keepends=True)
    ]
    count = FileStore(home, projections=(COUNT,)).read_projection("count", "s")
    print(
        f"\n8 processes × 500 appends: {kinds.count('decision'):,} decisions and {kinds.count('checkpoint')} checkpoints,"
        f" counter {count:,}, chain {'intact' if audit(home).is_intact else 'BROKEN'}"
    )
    print(
        f"appends per second with fsync: {4000 / seconds:,.0f} from eight processes, {500 / single:,.0f} from one,"
        f" {4000 / seconds * single / 500:.2f}× as many"
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


def replaying(place: Path) -> None:
    """Decisions on ordinary commands, written by governance, read back and made again; each command is a little other."""
    policy = parse_policy("profile: standard")
    store = FileStore(place / "decided", projections=load_projections(), durable=False)
    governance = Governance(policy, store)
    for number in range(2_000):
        command = f"{COMMANDS[number % len(COMMANDS)]} # {number}"
        governance.before(Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, cwd=str(place)))
    tune_garbage_collector()  # as `verdikt replay` does
    rates = []
    for _ in range(3):
        begin = time.process_time()
        past = (found for entry in store.read_entries("default") if (found := read_decision(entry)))
        same = sum(not find_differences(each, replay(each, policy)) for each in past)
        rates.append(2_000 / (time.process_time() - begin))
    rate = max(rates)
    enough = "yes" if rate >= 2_000 else "NO"
    print(f"\nreplay 2,000 decisions, {same:,} the same: {rate:,.0f} per CPU second  (at least 2,000: {enough})")


def _judged(ratio: float, limit: float) -> str:
    return f"{ratio:>13.2f}×  (at most {limit}: {'yes' if ratio <= limit else 'NO'})"


def main() -> None:
    """Everything, in a directory that is gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="verdikt-bench-"))
    try:
        appending(place)
        verifying(place)
        contending(place)
        replaying(place)
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
