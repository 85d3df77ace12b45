"""Fixtures and checks that every test shares."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from tests.cleanup import collect_resources
from tests.leftovers import LeftoverTracker, watch_directory
from verdikt.graph.guard import BaseGuard
from verdikt.guards import GUARDS, guard_class
from verdikt.knowledge.compiler import write_module

# The processes that tests start read the compiled records: they must be those of this checkout.
write_module()

# How long an example takes depends on the machine, not on the code under test.
hypothesis_settings.register_profile("verdikt", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("verdikt")

# No test leaves a warm process behind; the tests of the warm process start and end their own.
os.environ["VERDIKT_DAEMON"] = "off"

TRACKER = pytest.StashKey[LeftoverTracker]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note what is open before the first test, and keep the tests themselves from the garbage collector."""
    session.stash[TRACKER] = LeftoverTracker()
    # Twenty thousand tests live to the end: each search for garbage would walk all that belongs to them.
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs root for everybody else."""
    if item.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root, for files and processes of several users; `.ci/run` runs it as root")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note what the test leaves open after its fixtures have closed theirs."""
    tracker = item.session.stash[TRACKER]
    tracker.current_test = item.nodeid
    result = yield
    tracker.note_new_resources()
    return result


@pytest.fixture(scope="session", autouse=True)
def check_leftovers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail at the end of the run, in each worker, when descriptors, threads or processes are left over."""
    watch_directory(tmp_path_factory.getbasetemp())
    yield
    if leftovers := request.session.stash[TRACKER].find_leftovers():
        report = "\n".join(f"  {line}" for line in leftovers)
        pytest.fail(f"{len(leftovers)} resources are left over in this worker:\n{report}", pytrace=False)


@pytest.fixture(autouse=True)
def close_resources() -> Iterator[None]:
    """Close what the test registered with `tests.cleanup.close_after_test`."""
    with collect_resources():
        yield


@pytest.fixture
def every_guard() -> list[BaseGuard]:
    """Return each built-in guard, with settings where it does nothing without."""
    settings = {
        "file_boundary": {"allowed_dirs": ["src"], "red_line_files": ["src/auth/handler.py"]},
        "bash_safety": {"blocked_patterns": ["sudo"], "blocked_prefixes": ["su"], "allowed": ["sudo -n true"]},
        "layer_isolation": {"layers": {"ui": ["src/ui"], "core": ["src/core"]}, "block_reads": True},
        "budget": {"max_tasks": 1000, "max_seconds": 1000.0},
        "intent": {"required_fields": ["description"], "limits": {"amount": 10.0}},
    }
    return [guard_class(name)(**settings.get(name, {})) for name in GUARDS]
