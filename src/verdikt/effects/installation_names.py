"""What the name of a database, a container or a stage says about who depends on it."""

from verdikt.model.lazy_regex import compile_lazily

_LIVE_NAME = compile_lazily(r"(?i)(?:^|[^a-z0-9])(?:prod|production|live|staging)(?:$|[^a-z0-9])")
_THROWAWAY_NAME = compile_lazily(
    r"(?:^|[^a-z])(?:test|tests|testing|tmp|temp|dev|ci|scratch|sandbox|local|example|demo|playground|fixture"
    r"|fixtures|staging_test)(?:$|[^a-z])"
)

_TEST_NAME = compile_lazily(r"(?i)(?:^|[._-])test(?:ing|s)?(?:$|[._-])")


def is_live_name(name: str) -> bool:
    """Return whether a name says that people depend on what has it."""
    return _LIVE_NAME.search(name) is not None


def is_test_name(name: str) -> bool:
    """Return whether a name says that what has it is filled by tests: `shop_test`."""
    return _TEST_NAME.search(name) is not None


def is_for_trials(name: str) -> bool:
    """Return whether a name says that what has it was made for a trial, and nothing that people depend on."""
    return is_throwaway(name) and not is_live_name(name)


def is_throwaway(name: str) -> bool:
    """Return whether a name says that what has it can be lost without harm: test, tmp, demo."""
    return _THROWAWAY_NAME.search(name.lower()) is not None
