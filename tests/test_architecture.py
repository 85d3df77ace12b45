"""Which package may import which, what is pure, one definition per class; each rule fires on a seeded violation."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "verdikt"

ALLOWED_IMPORTS: dict[str, set[str]] = {
    "errors": set(),
    "layers": set(),
    "host_descriptions": set(),
    "model": {"errors", "host_descriptions", "knowledge"},
    "knowledge": set(),
    "shell": {"errors", "model", "knowledge"},
    "effects": {"errors", "model", "shell", "knowledge", "host_descriptions"},
    "graph": {"errors", "layers", "model"},
    "guards": {"errors", "layers", "model", "graph"},
    "guidance": {"errors", "layers", "model", "graph", "runs"},
    "runs": {"errors", "model", "shell", "knowledge", "host_descriptions"},
    "claims": {"errors", "model"},
    "prompts": {"errors", "model", "knowledge", "claims"},
    "turns": {"errors", "model", "knowledge", "host_descriptions", "runs", "prompts"},
    "evidence": {"errors", "model", "knowledge", "host_descriptions", "runs", "claims", "prompts", "turns"},
    "council": {"errors", "model", "observe"},
    "observe": {"errors", "model", "knowledge", "host_descriptions"},
    "ledger": {"errors", "model", "observe"},
    "report": {"errors", "model"},
    "policy": {"errors", "model", "effects", "graph", "guards", "guidance", "evidence", "council", "observe", "ledger"},
    "ratchet": {"errors", "model", "graph", "observe", "ledger", "policy"},
    "settle": {"errors", "model", "graph"},
    "decide": {"errors", "model", "effects", "graph", "settle"},
    "replay": {"errors", "model", "graph", "decide"},
    "recorded_policies": {"errors", "graph", "ledger", "policy"},
    "council_reviews": {"errors", "model", "graph", "council", "observe", "ledger", "report"},
    "call_permissions": {"errors", "model", "graph", "observe", "ledger", "decide"},
    "governance_parts": {"model", "evidence", "guidance", "observe", "ledger", "council_reviews"},
    "govern": {"errors", "model", "effects", "graph", "council", "observe", "ledger"}
    | {"policy", "decide", "call_permissions", "governance_parts"},
    "hosts": {"errors", "host_descriptions", "model", "govern", "observe", "ledger", "daemon"},  # of daemon, its client
    "adapters": {"hosts"},
    "integrations": {"errors", "host_descriptions", "model", "govern", "hosts", "observe", "mcp"},
    "team": {"errors", "model", "report"},
    "ship": {"errors", "model", "observe", "ledger", "team"},
    "serve": {"errors", "model", "observe", "ledger", "report", "replay", "recorded_policies", "team", "ship", "web"},
    "web": {"errors"},
    "mcp": {
        "errors",
        "model",
        "shell",
        "host_descriptions",
        "hosts",
        "govern",
        "observe",
        "ledger",
        "daemon",
    },  # its cache
}
"""Package → the packages it may import besides itself. One that is not named (cli, daemon) may import every other."""

IO_MODULES: dict[str, set[str]] = {
    "graph/policy_cache.py": {"ledger", "observe", "policy", "ratchet"},
    "evidence/gate_service.py": {"ledger", "observe"},
    "turns/loader.py": {"ledger"},
    "turns/observer.py": {"claims", "observe"},
    "turns/run_inspector.py": {"observe"},
    "guidance/hooks.py": {"effects", "council", "evidence", "ledger", "observe"},
}
"""The modules that do the I/O of an otherwise pure package → what they may import besides what the package may."""

HOST_DESCRIPTIONS = re.compile(r"hosts/(?:(?:__init__|host|hook_event|registry)\.py|\w+/__init__\.py)")
"""The files of `hosts` that are plain data about hosts: a package of their own in the table above."""

TOP_PACKAGES = {"cli"}
"""The packages that no other package may import."""

TEAM_PACKAGES = {"team", "ship", "serve", "web"}
"""The packages of the team service, which only they and the command line import: no hook pays for them."""

PURE_PACKAGES = {
    "host_descriptions",
    "model",
    "shell",
    "effects",
    "graph",
    "guards",
    "report",
    "guidance",
    "runs",
    "claims",
    "prompts",
    "turns",
    "settle",
    "decide",
    "replay",
    "team",
}
IMPURE_MODULES = {
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
"""The modules of the standard library that a pure package may not import: I/O, the clock, randomness."""

HASHING_MODULES = {"model/canonical_json.py", "ledger/keys.py"}
CLOCK_MODULE = "observe/clock.py"


def get_package(module: str) -> str:
    """Return the package of a module of verdikt (`verdikt.graph.rule` → `graph`), or `` for other modules."""
    parts = module.split(".")
    if parts[0] != "verdikt" or len(parts) == 1:
        return ""
    path = "/".join(parts[1:])
    file = f"{path}/__init__.py" if (SOURCE / path).is_dir() else f"{path}.py"
    return "host_descriptions" if HOST_DESCRIPTIONS.fullmatch(file) else parts[1]


def get_file_package(path: str) -> str:
    """Return the package of a file (`graph/rule.py` → `graph`, `decide.py` → `decide`)."""
    return "host_descriptions" if HOST_DESCRIPTIONS.fullmatch(path) else path.split("/", 1)[0].removesuffix(".py")


def list_imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and module of each import in a file, in functions too, except under TYPE_CHECKING."""
    type_only_nodes: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            type_only_nodes |= {id(child) for child in ast.walk(node)}
        if id(node) in type_only_nodes:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                is_module = (SOURCE.parent / f"{submodule.replace('.', '/')}.py").exists()
                yield node.lineno, submodule if is_module else node.module


def check_import(path: str, line: int, module: str) -> Iterator[str]:
    """Yield the rules that one import of one file breaks."""
    package, imported, top = get_file_package(path), get_package(module), module.split(".", maxsplit=1)[0]
    allowed = ALLOWED_IMPORTS.get(package, {imported}) | IO_MODULES.get(path, set()) | {package, ""}
    if imported not in allowed:
        yield f"{path}:{line}: {package} may not import {imported}"
    if imported in TOP_PACKAGES and package not in TOP_PACKAGES and path != "__main__.py":
        yield f"{path}:{line}: nothing imports {imported}"
    if imported in TEAM_PACKAGES and package not in TEAM_PACKAGES | TOP_PACKAGES:
        yield f"{path}:{line}: only the team service and the command line import {imported}"
    if package in PURE_PACKAGES and path not in IO_MODULES and top in IMPURE_MODULES:
        yield f"{path}:{line}: {package} is pure and may not import {top}"
    if top == "hashlib" and path not in HASHING_MODULES:
        yield f"{path}:{line}: only {' and '.join(sorted(HASHING_MODULES))} import hashlib"
    if top == "time" and path != CLOCK_MODULE and package not in TOP_PACKAGES | {"daemon"}:
        yield f"{path}:{line}: only {CLOCK_MODULE} reads the time"


PROMISED = {("integrations", "VerdiktMiddleware")}
"""Names that users import from several modules: two SDKs call what an adapter is a middleware."""


def find_violations(files: dict[str, str]) -> list[str]:
    """Return every violation of the rules in these files (path below the package → source)."""
    violations: list[str] = []
    classes: dict[str, list[str]] = defaultdict(list)
    for path, source in sorted(files.items()):
        tree = ast.parse(source)
        package = get_file_package(path)
        for line, module in list_imports(tree):
            violations += check_import(path, line, module)
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.ClassDef)
                and not node.name.startswith("_")
                and (package, node.name) not in PROMISED
            ):
                classes[node.name].append(path)
            if (
                isinstance(node, ast.Call)
                and package in PURE_PACKAGES
                and isinstance(node.func, ast.Name)
                and node.func.id in ("open", "print", "input")
            ):
                violations.append(f"{path}:{node.lineno}: {package} is pure and may not call {node.func.id}")
    violations += [
        f"class {name} is defined in {', '.join(paths)}" for name, paths in classes.items() if len(paths) > 1
    ]
    return violations


def test_source_follows_the_import_and_purity_rules() -> None:
    """No file of the package breaks a rule of the tables above."""
    files = {str(path.relative_to(SOURCE)): path.read_text() for path in SOURCE.rglob("*.py")}

    assert find_violations(files) == []


@pytest.mark.parametrize(
    ("files", "violation"),
    [
        ({"model/x.py": "import verdikt.graph.rule"}, "model may not import graph"),
        ({"guards/x.py": "from verdikt.effects import classifier"}, "guards may not import effects"),
        ({"observe/x.py": "from verdikt.hosts.claude.adapter import decode"}, "observe may not import hosts"),
        ({"observe/x.py": "from verdikt.hosts.claude import adapter"}, "observe may not import hosts"),
        ({"hosts/new/__init__.py": "import verdikt.model.action"}, "host_descriptions may not import model"),
        ({"hosts/new/__init__.py": "import os"}, "host_descriptions is pure and may not import os"),
        ({"graph/x.py": "def f():\n    import os"}, "graph is pure and may not import os"),
        ({"guards/x.py": "import subprocess"}, "guards is pure and may not import subprocess"),
        ({"shell/x.py": "from time import time"}, "only observe/clock.py reads the time"),
        ({"ledger/x.py": "import hashlib"}, "import hashlib"),
        ({"ledger/x.py": "import time"}, "only observe/clock.py reads the time"),
        ({"govern.py": "import verdikt.cli"}, "nothing imports cli"),
        ({"daemon/x.py": "import verdikt.serve.store"}, "only the team service and the command line import serve"),
        ({"hosts/x.py": "import verdikt.team.wire"}, "only the team service and the command line import team"),
        ({"team/x.py": "import verdikt.serve.store"}, "team may not import serve"),
        ({"ship/x.py": "import verdikt.serve.store"}, "ship may not import serve"),
        ({"team/x.py": "import socket"}, "team is pure and may not import socket"),
        ({"effects/x.py": "open('x')"}, "effects is pure and may not call open"),
        ({"guards/x.py": "open('x')"}, "guards is pure and may not call open"),
        ({"model/a.py": "class A: ...", "graph/b.py": "class A: ..."}, "class A is defined in graph/b.py, model/a.py"),
    ],
)
def test_each_rule_fires_on_a_seeded_violation(files: dict[str, str], violation: str) -> None:
    """Every rule reports at least one file that breaks it, so no rule is empty."""
    assert any(violation in reported for reported in find_violations(files))


@pytest.mark.parametrize(
    ("files", "max_lines"),
    [
        ("knowledge/**/*.toml", 4000),
        ("effects/handlers/*.py", 2000),
        ("effects/program_[er]*.py", 600),
    ],
)
def test_what_is_known_of_programs_stays_small(files: str, max_lines: int) -> None:
    """Records, handlers and the interpreter of records keep to their bounds: what grows without one is no table."""
    paths = list(SOURCE.glob(files))

    assert paths
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths) <= max_lines


def test_at_most_a_dozen_handlers_each_named_in_a_record() -> None:
    """Python is for what no table can say; a handler that no record names is dead."""
    records = "\n".join(path.read_text(encoding="utf-8") for path in (SOURCE / "knowledge/programs").glob("*.toml"))
    modules = {path.stem for path in (SOURCE / "effects/handlers").glob("*.py")} - {"__init__"}
    named = set(re.findall(r'(?:handler|prepare|adjust) = "([a-z_]+)\.', records))

    assert len(modules) <= 12
    assert named <= modules
    assert modules - named <= {"git_remotes"}, "it is a part of `git`"
