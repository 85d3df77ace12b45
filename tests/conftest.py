"""What tests of several rooms share."""

import os

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from verdikt.graph.guard import BaseGuard
from verdikt.guards import GUARDS, guard_class

# How long an example takes is the machine's business, not the test's.
hypothesis_settings.register_profile("verdikt", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("verdikt")

# No test leaves a warm process behind; those that are about it start and end their own.
os.environ["VERDIKT_DAEMON"] = "off"


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
