"""Who may import whom, what is pure, one definition per class name. Each rule is also shown to fire on a seeded violation."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "verdikt"

ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "layers": set(),
    "host_descriptions": set(),
    "model": {"errors", "host_descriptions"},
    "shell": {"errors", "model"},
    "effects": {"errors", "model", "shell", "host_descriptions"},
    "graph": {"errors", "layers", "model"},
    "guards": {"errors", "layers", "model", "graph"},
    "guidance": {"errors", "layers", "model", "graph"},
    "evidence": {"errors", "model", "shell", "host_descriptions"},
    "council": {"errors", "model", "observe"},
    "observe": {"errors", "model", "host_descriptions"},
    "ledger": {"errors", "model", "observe"},
    "report": {"errors", "model"},
    "policy": {"errors", "model", "effects", "graph", "guards", "guidance", "evidence", "council", "observe", "ledger"},
    "decide": {"errors", "model", "effects", "graph"},
    "replay": {"errors", "model", "graph", "decide"},
    "govern": {"errors", "model", "effects", "graph", "guidance", "evidence", "council", "observe", "ledger"}
    | {"report", "policy", "decide"},
    "hosts": {"errors", "host_descriptions", "model", "govern", "observe", "ledger", "daemon"},  # of daemon, its client
    "adapters": {"hosts"},
}
"""Room → the rooms it may import besides itself. A room not named here (cli, web, daemon) may import every other."""

SHELLS: dict[str, set[str]] = {
    "graph/policy_cache.py": {"ledger", "observe", "policy"},
    "evidence/gate_service.py": {"ledger", "observe"},
    "guidance/hooks.py": {"effects", "council", "evidence", "ledger", "observe"},
}
"""The modules that do the I/O of an otherwise pure package → what they may import besides what the package may."""

HOST_DESCRIPTIONS = re.compile(r"hosts/(?:(?:__init__|host|hook_event|registry)\.py|\w+/__init__\.py)")
"""The files of `hosts` that are plain data about hosts. They form a room of their own, which every room may import."""

ENDS = {"cli", "web"}
"""Nothing imports these."""

PURE = {"host_descriptions", "model", "shell", "effects", "graph", "report", "guidance", "decide", "replay"}
WORLDLY = {
    "os",
    "time",
    "random",
    "socket",
    "subprocess",
    "shutil",
    "tempfile",
    "uuid",
    "urllib",
    "http",
    "asyncio",
    "datetime",
}
"""What a pure room may not import: the world and the clock."""

HASHERS = {"model/canonical_json.py", "ledger/keys.py"}
CLOCK = "observe/clock.py"


def rooms_of(module: str) -> str:
    """`verdikt.graph.engine` → `graph`; another package → ``."""
    parts = module.split(".")
    if parts[0] != "verdikt" or len(parts) == 1:
        return ""
    path = "/".join(parts[1:])
    file = f"{path}/__init__.py" if (SRC / path).is_dir() else f"{path}.py"
    return "host_descriptions" if HOST_DESCRIPTIONS.fullmatch(file) else parts[1]


def room_of_file(path: str) -> str:
    """`graph/engine.py` → `graph`."""
    return "host_descriptions" if HOST_DESCRIPTIONS.fullmatch(path) else path.split("/", 1)[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every module imported anywhere in a file, functions included, except under TYPE_CHECKING."""
    hidden: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            hidden |= {id(child) for child in ast.walk(node)}
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                is_module = (SRC.parent / f"{submodule.replace('.', '/')}.py").exists()
                yield node.lineno, submodule if is_module else node.module


def faults(files: dict[str, str]) -> list[str]:
    """What the house rules have to say about these files (path below the package → source)."""
    found: list[str] = []
    classes: dict[str, list[str]] = defaultdict(list)
    for path, source in sorted(files.items()):
        tree = ast.parse(source)
        room = room_of_file(path)
        for line, module in imports(tree):
            top = module.split(".")[0]
            there = rooms_of(module)
            if there and there != room and room in ROOMS and there not in ROOMS[room] | SHELLS.get(path, set()):
                found.append(f"{path}:{line}: {room} may not import {there}")
            if there in ENDS and room not in ENDS and path != "__main__.py":
                found.append(f"{path}:{line}: nothing imports {there}")
            if room in PURE and path not in SHELLS and top in WORLDLY:
                found.append(f"{path}:{line}: {room} is pure and may not import {top}")
            if top == "hashlib" and path not in HASHERS:
                found.append(f"{path}:{line}: only {' and '.join(sorted(HASHERS))} import hashlib")
            if top == "time" and path != CLOCK and room not in ENDS | {"daemon"}:
                found.append(f"{path}:{line}: only {CLOCK} reads the time")
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(path)
            if (
                isinstance(node, ast.Call)
                and room in PURE
                and isinstance(node.func, ast.Name)
                and node.func.id in ("open", "print", "input")
            ):
                found.append(f"{path}:{node.lineno}: {room} is pure and may not call {node.func.id}")
    found += [f"class {name} is defined in {', '.join(places)}" for name, places in classes.items() if len(places) > 1]
    return found


def test_the_source_keeps_the_house_rules() -> None:
    """The table above is true of every file."""
    files = {str(path.relative_to(SRC)): path.read_text() for path in SRC.rglob("*.py")}

    assert faults(files) == []


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"model/x.py": "import verdikt.graph.engine"}, "model may not import graph"),
        ({"guards/x.py": "from verdikt.effects import classifier"}, "guards may not import effects"),
        ({"observe/x.py": "from verdikt.hosts.claude.adapter import decode"}, "observe may not import hosts"),
        ({"observe/x.py": "from verdikt.hosts.claude import adapter"}, "observe may not import hosts"),
        ({"hosts/new/__init__.py": "import verdikt.model.action"}, "host_descriptions may not import model"),
        ({"hosts/new/__init__.py": "import os"}, "host_descriptions is pure and may not import os"),
        ({"graph/x.py": "def f():\n    import os"}, "graph is pure and may not import os"),
        ({"shell/x.py": "from time import time"}, "only observe/clock.py reads the time"),
        ({"ledger/x.py": "import hashlib"}, "import hashlib"),
        ({"ledger/x.py": "import time"}, "only observe/clock.py reads the time"),
        ({"govern.py": "import verdikt.cli"}, "nothing imports cli"),
        ({"effects/x.py": "open('x')"}, "effects is pure and may not call open"),
        ({"model/a.py": "class A: ...", "graph/b.py": "class A: ..."}, "class A is defined in graph/b.py, model/a.py"),
    ],
)
def test_each_rule_fires_on_a_seeded_violation(files: dict[str, str], fault: str) -> None:
    """A rule that cannot fire checks nothing."""
    assert any(fault in found for found in faults(files))
