"""Random replies, outputs and documents for the native client with sanitizers: it must always print a decision.

make bench      or      .venv/bin/python benchmarks/fuzz_hook.py [SECONDS]
"""

import json
import random
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.contract import native
from tests.contract import test_native_fuzz as fuzz

from verdikt.daemon import protocol

SECONDS = 60.0
DOCUMENTS_PER_ROUND = 2000
SEEDS = (
    b"{}",
    b'{"decision":"block","reason":"no"}',
    b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'
    b'"permissionDecisionReason":"\\ud83d\\ude00"}}',
    b'{ "a": [1, -2.5e3, true, false, {"b": []}] , "c":"\\u00e9" }',
)


def main() -> int:
    """Run until the time is over or an assertion fails."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    root = native.create_short_directory()
    subject = fuzz.Subject(root)
    rounds = 0
    deadline = time.monotonic() + seconds
    seed = time.time_ns()
    print(f"{seconds:g} seconds of random input, seed {seed}", flush=True)
    chance = random.Random(seed)
    with native.FakeWarm(root, subject.send_current_reply):
        while time.monotonic() < deadline:
            replies = [(chance.choice([0, 2]), create_document(chance) + b"\n") for _ in range(DOCUMENTS_PER_ROUND)]
            assert fuzz.run_check(replies) == [fuzz.is_decision(*reply) for reply in replies]
            subject.reply = create_reply(chance)
            completed_process = subject.run(fuzz.HOOK_ARGUMENTS)
            expected = fuzz.parse_reply(subject.reply)
            assert not expected or (completed_process.returncode, completed_process.stdout) == expected, subject.reply
            subject.run(["20", "closed", "/bin/cat"], create_document(chance))
            rounds += 1
    shutil.rmtree(root)
    counts = {"documents": rounds * DOCUMENTS_PER_ROUND, "replies": rounds, "outputs": rounds}
    print(f"nothing found: {json.dumps(counts)}")
    return 0


def create_document(chance: random.Random) -> bytes:
    """Return a document with random changes."""
    document = chance.choice(SEEDS)
    for _ in range(chance.choice([1, 1, 2, 4])):
        document = fuzz.mutate(document, chance.getrandbits(32))
    return document


def create_reply(chance: random.Random) -> bytes:
    """Return a reply, often with random changes, but never a retry, after which the hook would decide."""
    reply = protocol.encode_reply(protocol.KIND_ANSWER, chance.choice([0, 2]), create_document(chance) + b"\n", b"no")
    mutated_reply = fuzz.mutate(reply, chance.getrandbits(32)) if chance.random() < 0.7 else reply
    return mutated_reply if mutated_reply[4:5] != b"\x01" else reply


if __name__ == "__main__":
    sys.exit(main())
