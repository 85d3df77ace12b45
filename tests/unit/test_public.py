"""The public names: one table, typed, and loaded only when used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import verdikt

HEAVY = ("pydantic", "click", "rich", "asyncio", "yaml", "cryptography", "sqlite3", "sqlglot")


def list_loaded_modules(program: str) -> set[str]:
    """Return the modules that are imported after a program has run in a fresh interpreter."""
    report = f"{program}\nimport sys\nprint(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", report], capture_output=True, check=True, text=True).stdout.split()
    )


def test_import_of_verdikt_imports_no_submodule() -> None:
    """Each public name is imported when it is first used."""
    assert [name for name in list_loaded_modules("import verdikt") if name.startswith("verdikt.")] == []


def test_evaluation_imports_no_heavy_package() -> None:
    """A hook runs on every tool call, so an evaluation imports only what it needs."""
    modules = list_loaded_modules(
        "from verdikt import Action, ActionKind, PolicyEngine, All, Outcome, InMemorySessionStore, CollectingTracer\n"
        "from verdikt.guards import *\n"
        "engine = PolicyEngine(All(FileBoundaryGuard(), BashSafetyGuard(), SandboxGuard(), BudgetGuard(max_tasks=9)),\n"
        "    session_store=InMemorySessionStore(), tracer=CollectingTracer())\n"
        "action = Action(kind=ActionKind.BASH, payload={'command': 'rm -rf /'})\n"
        "assert not engine.evaluate(action).passed\n"
        "engine.post_action(action, Outcome(success=True))"
    )

    assert [name for name in HEAVY if name in modules] == []


def test_public_names_for_type_checkers_equal_the_table() -> None:
    """The imports under TYPE_CHECKING are exactly the table of public names."""
    tree = ast.parse(Path(verdikt.__file__).read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {
        alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }

    assert typed == verdikt._MODULES, (
        "add `from <module> import <name> as <name>` under TYPE_CHECKING in verdikt/__init__.py"
    )


@pytest.mark.parametrize("name", verdikt.__all__)
def test_public_name_is_importable_and_listed(name: str) -> None:
    """Each public name can be imported and is in `dir(verdikt)`."""
    assert getattr(verdikt, name) is not None
    assert name in dir(verdikt)


def test_unknown_name_is_an_attribute_error() -> None:
    """The error names the unknown attribute."""
    with pytest.raises(AttributeError, match="module `verdikt` has no attribute `Nothing`"):
        verdikt.Nothing  # type: ignore[attr-defined] # noqa: B018
