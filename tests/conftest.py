"""What tests of several rooms share."""

import pytest

from verdikt.graph.guard import BaseGuard
from verdikt.guards import GUARDS, guard_class


@pytest.fixture
def every_guard() -> list[BaseGuard]:
    """Each built-in guard, with settings where it does nothing without."""
    settings = {
        "file_boundary": {"allowed_dirs": ["src"], "red_line_files": ["src/auth/handler.py"]},
        "bash_safety": {"blocked_patterns": ["sudo"], "blocked_prefixes": ["su"], "allowed": ["sudo -n true"]},
        "layer_isolation": {"layers": {"ui": ["src/ui"], "core": ["src/core"]}, "block_reads": True},
        "budget": {"max_tasks": 1000, "max_seconds": 1000.0},
        "intent": {"required_fields": ["description"], "limits": {"amount": 10.0}},
    }
    return [guard_class(name)(**settings.get(name, {})) for name in GUARDS]
