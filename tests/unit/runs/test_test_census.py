"""The census of a file: its tests, the marks that keep them from counting, and configuration that chooses some."""

import pytest

from verdikt.runs.test_census import Census, take_census


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-q -k total"\n'),
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = [\n  "-q",\n  "--ignore=slow",\n]\n'),
        ("pytest.ini", "[pytest]\naddopts =\n  -q\n  -m fast\ntestpaths = tests\n"),
        ("package.json", '{"name": "a", "scripts": {"build": "b", "test": "node --test --test-name-pattern=one"}}'),
        ("package.json", '{\n  "scripts": {\n    "test": "jest -t \\"one\\""\n  }\n}'),
        ("Makefile", "all:\n\tcc\n\ntest: all\n\t@pytest -q -k one\n"),
    ],
)
def test_configuration_that_chooses_tests_counts(path: str, text: str) -> None:
    """One option that selects, in what runs all tests of the project, is one mark."""
    assert take_census(path, text) == Census(0, 1)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-p no:cacheprovider --strict-markers"\n'),
        ("pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'),
        ("package.json", '{"scripts": {"test": "node --test test/", "copy": "cp -R a b", "unit": "jest -t one"}}'),
        ("Makefile", "test:\n\tpytest -q tests\n\nfast:\n\tpytest -k fast\n"),
        ("setup.cfg", "[metadata]\nname = a\n"),
    ],
)
def test_configuration_that_runs_all_tests_does_not_count(path: str, text: str) -> None:
    """Where the tests are, and tasks beside the one that runs all, choose nothing."""
    assert take_census(path, text) == Census(0, 0)


def test_tests_and_marks_of_a_source_are_counted() -> None:
    """A test that was commented out is none."""
    text = "import pytest\n\n\n@pytest.mark.xfail\ndef test_a():\n    pass\n\n\n# def test_b():\n"

    assert take_census("test_a.py", text) == Census(1, 1)


@pytest.mark.parametrize(
    ("path", "text", "census"),
    [
        ("a_test.go", "//go:build slow\n\npackage a\n\nfunc TestA(t *testing.T) {\n}\n", Census(1, 1)),
        ("a.go", "//go:build linux\n\npackage a\n", Census(0, 0)),
        ("lib.rs", '#[cfg(feature = "slow")]\n#[test]\nfn a() {}\n', Census(1, 1)),
        ("lib.rs", "#[test]\n#[should_panic]\n#[cfg(unix)]\nfn a() {}\n", Census(1, 1)),
        ("lib.rs", "#[test]\n#[cfg_attr(miri, ignore)]\nfn a() {}\n", Census(1, 1)),
        ("lib.rs", '#[cfg(all(test, feature = "x"))]\nmod tests {}\n', Census(0, 1)),
        ("lib.rs", '#[cfg(test)]\nmod tests {}\n\n#[cfg(feature = "x")]\nfn b() {}\n', Census(0, 0)),
        ("a.test.ts", "test.skipIf(ci)('a', () => {})\n", Census(0, 1)),
        ("test_a.py", "try:\n    f()\nexcept (AssertionError, OSError):\n    pass\n", Census(0, 1)),
        ("test_a.py", "with pytest.raises(AssertionError):\n    f()\n", Census(0, 0)),
        ("conftest.py", "def pytest_runtest_makereport(item, call):\n    pass\n", Census(0, 1)),
        ("conftest.py", "def pytest_configure(config):\n    pass\n", Census(0, 0)),
    ],
)
def test_test_that_need_not_run_or_fail_has_a_mark(path: str, text: str, census: Census) -> None:
    """A build constraint, a feature or a hook may keep it from running or failing; of other code they say nothing."""
    assert take_census(path, text) == census
