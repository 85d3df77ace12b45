"""The hook starts with as little as it can, and what starts later is the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

CLASSES = """
__name__ = "verdikt.model.example"
import sys
sys.modules[__name__] = sys.modules["__main__"]
from verdikt.adapters.start import spare
spare()
from dataclasses import dataclass, field, replace, FrozenInstanceError

@dataclass(frozen=True, slots=True, order=True)
class Point:
    "A value."
    x: int
    y: int = 2
    tags: list = field(default_factory=list, compare=False)
    def __post_init__(self):
        if self.x < 0: raise ValueError("x")

@dataclass
class Base:
    "A base."
    a: int

@dataclass
class Child(Base):
    "A child."
    b: int = 3

one, two = Point(1), Point(1, 2)
assert one == two and hash(one) == hash(two) and one < Point(2) and repr(one) == "Point(x=1, y=2, tags=[])", one
assert one.tags is not two.tags and replace(one, y=5).y == 5
assert Child(1) == Child(1, 3) and Child(1) != Base(1) and repr(Child(1)) == "Child(a=1, b=3)"
for wrong in (lambda: Point(), lambda: Point(1, z=2), lambda: Child(1, 2, 3)):
    try: wrong()
    except TypeError as error: assert "__init__()" in str(error), error
    else: raise SystemExit("it took wrong arguments")
try: one.x = 3
except FrozenInstanceError: pass
else: raise SystemExit("it can be changed")
import sys, inspect
assert "tokenize" not in sys.modules
assert str(inspect.signature(Point)).startswith("(x: int, y: int = 2")
assert "tokenize" in sys.modules
"""


def test_a_dataclass_whose_methods_are_written_later_is_the_same() -> None:
    """Values are equal, ordered, frozen and refused as ever."""
    done = subprocess.run([sys.executable, "-c", CLASSES], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


GUARD = """
rules:
- {name: none, command: nothing, verdict: block, reason: r, fix: f}
guards:
- file_boundary: {nonsense: 1}
"""


def test_a_guard_in_the_policy_is_still_asked_what_it_takes(tmp_path: Path) -> None:
    """A setting that a guard does not have is a fault of the policy in the hook as everywhere else."""
    (tmp_path / "governance.yaml").write_text(GUARD)
    payload = {"session_id": "s", "cwd": str(tmp_path), "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    done = subprocess.run(
        [sys.executable, "-m", "verdikt", "hook", "claude"],
        input=json.dumps(payload | {"tool_input": {"command": "ls"}}),
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
            "VERDIKT_HOME": str(tmp_path / "data"),
            "VERDIKT_DAEMON": "off",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert "nonsense" in done.stdout


LOADED = """
import json, os, sys
def leave(code):
    sys.stderr.write(json.dumps(sorted(name for name, module in sys.modules.items() if module)))
    sys.stderr.flush()
    end(code)
end, os._exit = os._exit, leave
from verdikt.__main__ import main
sys.argv = ["verdikt", "hook", "claude"]
main()
"""

HEAVY = (
    "asyncio click cryptography email importlib.metadata jsonschema logging multiprocessing pkg_resources pydantic rich "
    "socket sqlglot ssl subprocess tempfile tokenize tree_sitter unittest urllib.request yaml _hashlib "
    "verdikt.cli verdikt.council verdikt.evidence.gate verdikt.guidance.definition verdikt.shell.walk"
)


def test_a_hook_whose_policy_was_read_before_loads_nothing_heavy(tmp_path: Path) -> None:
    """No YAML, no command line, no `inspect`, and of verdikt only what this call needs."""
    (tmp_path / "governance.yaml").write_text("profile: standard\nposture: autonomous\n")
    payload = {"session_id": "s", "cwd": str(tmp_path), "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "VERDIKT_HOME": str(tmp_path / "data"),
        "VERDIKT_DAEMON": "off",
    }
    for command, said in (("ls -la src", "{}"), ("ls -la src", "{}"), ("rm -rf /", "block"), ("ls -la src", "{}")):
        done = subprocess.run(
            [sys.executable, "-c", LOADED],
            input=json.dumps(payload | {"tool_input": {"command": command}}),
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert said in done.stdout, done

    loaded = json.loads(done.stderr)
    assert "verdikt.govern" in loaded
    assert sorted(set(HEAVY.split()) & set(loaded)) == []
