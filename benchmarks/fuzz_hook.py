"""A minute of random answers, outputs and texts for the native client under sanitizers: it must always say a decision.

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
SEEDS = (
    b"{}",
    b'{"decision":"block","reason":"no"}',
    b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"\\ud83d\\ude00"}}',
    b'{ "a": [1, -2.5e3, true, false, {"b": []}] , "c":"\\u00e9" }',
)


def main() -> int:
    """Runs until the time is over or something is wrong."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    root = native.short_directory()
    subject = fuzz.Subject(root)
    count = {"texts": 0, "answers": 0, "outputs": 0}
    until = time.monotonic() + seconds
    seed = time.time_ns()
    print(f"{seconds:g} seconds of random input, seed {seed}", flush=True)
    chance = random.Random(seed)
    with native.FakeWarm(root, subject.behave):
        while time.monotonic() < until:
            said = [(chance.choice([0, 2]), text(chance) + b"\n") for _ in range(2000)]
            assert fuzz.checked(said) == [fuzz.is_decision(*each) for each in said]
            subject.answer = answer(chance)
            done, expected = subject.run(fuzz.ASKED), fuzz.truth(subject.answer)
            assert not expected or (done.returncode, done.stdout) == expected, subject.answer
            subject.run(["20", "closed", "/bin/cat"], text(chance))
            count = {"texts": count["texts"] + 2000, "answers": count["answers"] + 1, "outputs": count["outputs"] + 1}
    shutil.rmtree(root)
    print(f"nothing found: {json.dumps(count)}")
    return 0


def text(chance: random.Random) -> bytes:
    """A document, changed a little."""
    data = chance.choice(SEEDS)
    for _ in range(chance.choice([1, 1, 2, 4])):
        data = fuzz.mutate(data, chance.getrandbits(32))
    return data


def answer(chance: random.Random) -> bytes:
    """An answer, changed a little; never one that leaves it to the hook."""
    whole = protocol.encode_reply(protocol.KIND_ANSWER, chance.choice([0, 2]), text(chance) + b"\n", b"no")
    data = fuzz.mutate(whole, chance.getrandbits(32)) if chance.random() < 0.7 else whole
    return data if data[4:5] != b"\x01" else whole


if __name__ == "__main__":
    sys.exit(main())
