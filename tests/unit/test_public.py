"""The public names: one table, typed, and loaded only when used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import verdikt

HEAVY = ("pydantic", "click", "rich", "asyncio", "yaml", "cryptography", "sqlite3", "sqlglot")


def loaded(program: str) -> set[str]:
    """The modules that are loaded after a program has run in a fresh interpreter."""
    report = f"{program}\nimport sys\nprint(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", report], capture_output=True, check=True, text=True).stdout.split()
    )


def test_importing_verdikt_loads_nothing_of_it() -> None:
    """Each name is loaded when first used."""
    assert [name for name in loaded("import verdikt") if name.startswith("verdikt.")] == []


def test_evaluating_loads_nothing_heavy() -> None:
    """A hook runs on every tool call."""
    modules = loaded(
        "from verdikt import Action, ActionKind, PolicyEngine, All, When, Outcome, InMemorySessionStore, CollectingTracer\n"
        "from verdikt.guards import *\n"
        "engine = PolicyEngine(All(FileBoundaryGuard(), BashSafetyGuard(), SandboxGuard(), BudgetGuard(max_tasks=9)),\n"
        "    session_store=InMemorySessionStore(), tracer=CollectingTracer())\n"
        "action = Action(kind=ActionKind.BASH, payload={'command': 'rm -rf /'})\n"
        "assert not engine.evaluate(action).passed\n"
        "engine.post_action(action, Outcome(success=True))"
    )

    assert [name for name in HEAVY if name in modules] == []


def test_every_public_name_is_typed() -> None:
    """What is imported for type checkers is exactly the table, so that users' checks see what they get."""
    tree = ast.parse(Path(verdikt.__file__).read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {
        alias.asname: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }

    assert typed == verdikt._MODULES, (
        "add `from <module> import <name> as <name>` under TYPE_CHECKING in verdikt/__init__.py"
    )


@pytest.mark.parametrize("name", verdikt.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """And listed."""
    assert getattr(verdikt, name) is not None
    assert name in dir(verdikt)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    """With the name."""
    with pytest.raises(AttributeError, match="module `verdikt` has no attribute `Nothing`"):
        verdikt.Nothing  # type: ignore[attr-defined] # noqa: B018
