"""SARIF import and export, with the published schema and two real scanners."""

import itertools
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.cleanup import close_after_test
from tests.growth import LINEAR_GROWTH, measure_growth
from verdikt.cli.findings import command
from verdikt.council.finding_parser import read_findings
from verdikt.council.runs import Runs
from verdikt.council.sarif import from_sarif
from verdikt.errors import FindingError
from verdikt.ledger.council_findings import create_finding_log, find_open_findings
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.entry import EntryKind
from verdikt.model.finding import CouncilVerdict, Evidence, Finding, Level, build_finding
from verdikt.report.findings import render_markdown, to_junit_results
from verdikt.report.github_annotations import render_annotations
from verdikt.report.junit import TestResult, render_junit
from verdikt.report.sarif import path_to_uri, to_sarif

SCHEMA = json.loads((Path(__file__).parents[2] / "vectors" / "sarif-2.1.0.schema.json").read_bytes())
"""The schema that OASIS publishes, as the SARIF SDK ships it."""

VALIDATOR = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)

BAD = "import os, pickle, subprocess\n\n\ndef run(x):\n    subprocess.call(x, shell=True)\n    eval(x)\n"

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(str.strip)
findings = st.builds(
    lambda level, title, agent, rationale, places, key: build_finding(
        level=level, title=title, agent=agent, rationale=rationale, evidence=places, id=key
    ),
    st.sampled_from(list(Level.__members__)),
    texts,
    texts,
    st.text(st.characters(codec="utf-8"), max_size=30),
    st.lists(
        st.builds(
            Evidence,
            st.text("abc/ .äß%#?\n", min_size=1).filter(lambda path: path.strip() and not path.startswith("/")),
            st.none() | st.integers(1, 10**6),
            texts | st.just(""),
        ),
        max_size=3,
    ),
    st.uuids().map(str),
)


@given(st.lists(findings, max_size=4))
def test_exported_findings_are_valid_and_import_equal(given_findings: list[Finding]) -> None:
    """Any findings are valid SARIF and the same after an import."""
    document = to_sarif([CouncilVerdict("p", tuple(given_findings))], "1")
    VALIDATOR.validate(document)
    back = {finding.id: replace(finding, created_at=0.0) for finding in from_sarif(json.loads(json.dumps(document)))}
    assert back == {finding.id: finding for finding in given_findings}


def test_export_without_findings_is_valid() -> None:
    """A verdict without findings is valid SARIF."""
    VALIDATOR.validate(to_sarif([CouncilVerdict("p")]))


@pytest.mark.parametrize(
    ("path", "reference"),
    [
        ("src/a b.py", "src/a%20b.py"),
        ("/tmp/ä.py", "file:///tmp/%C3%A4.py"),
        ("C:\\x\\y.py", "file:///C%3A/x/y.py"),
        ("a\nb:c", "a%0Ab%3Ac"),
        ("a\udcff", "a%FF"),
    ],
)
def test_path_becomes_uri_reference(path: str, reference: str) -> None:
    """Spaces, newlines, drives and other bytes are encoded."""
    assert path_to_uri(path) == reference


def _scan(directory: Path, *command: str) -> bytes:
    (directory / "a b.py").write_text(BAD)
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=directory, capture_output=True, check=False, env={"PATH": "/usr/bin:/bin"}
    )
    assert done.returncode == 1, done.stderr.decode()
    return done.stdout


def test_bandit_output_becomes_findings(tmp_path: Path) -> None:
    """Severities, places and ids are read; ids survive a line added above."""
    data = _scan(tmp_path, "bandit", "-q", "-r", ".", "-f", "sarif")
    VALIDATOR.validate(json.loads(data))
    imported = read_findings(data, root=str(tmp_path))
    levels = {finding.title.split(":")[0]: finding.level for finding in imported}
    assert levels == {"B403": "LOW", "B602": "HIGH", "B307": "MEDIUM"}
    shell = next(finding for finding in imported if finding.level == "HIGH")
    assert shell.agent == "Bandit"
    assert shell.evidence == (Evidence("a b.py", 5),)
    (tmp_path / "a b.py").write_text("\n" + BAD)
    again = read_findings(
        subprocess.run(
            [sys.executable, "-m", "bandit", "-q", "-r", ".", "-f", "sarif"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        ).stdout
    )
    assert {finding.id for finding in again} == {finding.id for finding in imported}


def test_ruff_output_becomes_findings(tmp_path: Path) -> None:
    """Absolute addresses become paths below the project."""
    data = _scan(tmp_path, "ruff", "check", "--isolated", "--no-cache", "--select", "F,E", "--output-format", "sarif")
    VALIDATOR.validate(json.loads(data))
    imported = read_findings(data, root=str(tmp_path))
    assert {finding.title.split(":")[0] for finding in imported} >= {"E401", "F401"}
    assert all(finding.evidence[0].file == "a b.py" for finding in imported)
    assert len({finding.id for finding in imported}) == len(imported)
    assert all(finding.rationale and len(finding.rationale) <= 300 for finding in imported)


RESULT = {"ruleId": "R1", "message": {"text": "said"}}


@pytest.mark.parametrize(
    ("result", "rule", "level"),
    [
        ({"level": "error"}, {}, "HIGH"),
        ({"level": "warning"}, {}, "MEDIUM"),
        ({"level": "note"}, {}, "LOW"),
        ({"level": "none"}, {}, "LOW"),
        ({}, {}, "MEDIUM"),
        ({}, {"defaultConfiguration": {"level": "error"}}, "HIGH"),
        ({"level": "note"}, {"properties": {"security-severity": "9.1"}}, "CRITICAL"),
        ({"level": "error", "properties": {"security-severity": 5}}, {}, "MEDIUM"),
        ({"level": "error", "properties": {"security-severity": "much"}}, {}, "CRITICAL"),
        ({"level": "note", "properties": {"security-severity": float("nan")}}, {}, "CRITICAL"),
        ({"level": "note", "properties": {"security-severity": "NaN"}}, {}, "CRITICAL"),
        ({"level": "note", "properties": {"security-severity": float("inf")}}, {}, "CRITICAL"),
        ({"level": "note", "properties": {"security-severity": -1}}, {}, "CRITICAL"),
        ({"level": "note", "properties": {"security-severity": None}}, {}, "CRITICAL"),
        ({"level": "note"}, {"properties": {"security-severity": "nan"}}, "CRITICAL"),
        ({"level": ["odd"]}, {}, "CRITICAL"),
        ({"level": "fatal"}, {}, "CRITICAL"),
        ({"level": None}, {}, "MEDIUM"),
    ],
)
def test_scanner_level_is_read_from_score_or_level(result: dict[str, Any], rule: dict[str, Any], level: str) -> None:
    """A score takes precedence; the default is a warning, as in the standard."""
    run = {"tool": {"driver": {"name": "x", "rules": [{"id": "R1", **rule}]}}, "results": [RESULT | result]}
    assert [finding.level for finding in from_sarif({"runs": [run]})] == [level]


@pytest.mark.parametrize(
    "result",
    [
        {"suppressions": [{"kind": "inSource"}]},
        {"kind": "pass"},
        {"baselineState": "absent"},
    ],
)
def test_dismissed_result_is_left_out(result: dict[str, Any]) -> None:
    """Suppressed results are left out, unless the suppression is under review."""
    assert from_sarif({"runs": [{"results": [RESULT | result]}]}) == []
    assert len(from_sarif({"runs": [{"results": [RESULT | {"suppressions": [{"status": "underReview"}]}]}]})) == 1


def test_failed_scanner_run_is_a_finding() -> None:
    """A scan that broke off is not clean."""
    notes = [{"message": {"text": "out of memory"}}]
    broken = {"executionSuccessful": False, "toolExecutionNotifications": notes}
    (finding,) = from_sarif({"runs": [{"tool": {"driver": {"name": "x"}}, "invocations": [broken], "results": []}]})
    assert (finding.level, finding.title, finding.rationale) == ("HIGH", "x did not run to its end", "out of memory")


def test_findings_json_is_read_as_list_or_mapping() -> None:
    """Both forms are accepted."""
    item = {"level": "high", "title": "t", "evidence": ["a.py:1:n", {"file": "b.py", "line": 2}]}
    for document in ([item], {"findings": [item]}):
        (finding,) = read_findings(json.dumps(document).encode(), agent="me")
        assert (finding.agent, finding.level) == ("me", "HIGH")
        assert finding.evidence == (Evidence("a.py", 1, "n"), Evidence("b.py", 2))


def test_same_finding_in_several_places_is_merged() -> None:
    """The places of equal findings are joined."""
    items = [{"level": "LOW", "title": "t", "evidence": [f"a.py:{line}"]} for line in (1, 2, 2)]
    (finding,) = read_findings(json.dumps(items).encode())
    assert finding.evidence == (Evidence("a.py", 1), Evidence("a.py", 2))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"3",
        b"{}",
        b'{"runs": 3}',
        b'{"findings": [1]}',
        b'[{"level": "x", "title": "t"}]',
        b"\xff",
        b"[",
        b"[" * 100_000,
        b'[{"level": "LOW"}]',
        b'[{"level": "LOW", "title": "t", "evidence": 5}]',
    ],
)
def test_other_output_is_refused(data: bytes) -> None:
    """Output that is no report is an error."""
    with pytest.raises(FindingError):
        read_findings(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    "runs results message text level ruleId ruleIndex locations physicalLocation artifactLocation uri"
                    " region startLine index rules tool driver properties security-severity invocations fingerprints"
                ).split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_malformed_documents_are_refused_or_give_whole_findings(value: Any) -> None:
    """A document that is not refused gives findings with a title and a known level."""
    with suppress(FindingError):
        for finding in read_findings(json.dumps({"runs": value}).encode()):
            assert finding.title
            assert finding.level in Level.__members__


FOUND = (
    build_finding(level="LOW", title="style | `x`", agent="lint", evidence=["a.py:1"]),
    build_finding(level="HIGH", title="bad, very: 100%", agent="sec", evidence=["a,b.py:2:here"], rationale="one\ntwo"),
)


def test_annotations_are_escaped_workflow_commands() -> None:
    """Each finding is one line, escaped as the format requires."""
    assert render_annotations(FOUND) == [
        "::error file=a%2Cb.py,line=2,title=HIGH sec::bad, very: 100%25%0Ahere%0Aone%0Atwo",
        "::notice file=a.py,line=1,title=LOW lint::style | `x`",
    ]


def test_junit_fails_for_blocking_findings() -> None:
    """LOW and MEDIUM are shown as passed."""
    root = ET.fromstring(render_junit(to_junit_results([CouncilVerdict("p", FOUND), CouncilVerdict("q")])))
    assert (root.get("tests"), root.get("failures")) == ("3", "1")


def test_junit_says_again_what_it_was_told() -> None:
    """Quotes, marks and white space survive a reader of XML, and what XML cannot represent is replaced."""
    text = "a\tb \"c\" 'd' <e> &amp; f"
    result = TestResult(suite=text, name=text, where="a.py:3", failure=f"{text}\nsecond\x00line")
    root = ET.fromstring(render_junit([result], name=f"{text}\r\n"))

    case = root.find("./testsuite/testcase")
    assert root.get("name") == f"{text}\r\n"
    assert case is not None and (case.get("name"), case.get("classname")) == (text, text)
    failure = case.find("failure")
    assert failure is not None and (failure.get("message"), failure.text) == (text, f"{text}\nsecond\ufffdline")


def test_markdown_has_one_row_per_finding() -> None:
    """The worst is first, and no text leaves its cell."""
    rows = [line for line in render_markdown([CouncilVerdict("p", FOUND)]).splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in rows] == ["| level", "| HIGH", "| LOW"]
    assert all(row.count("|") == 6 for row in rows)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home and a working directory."""
    for name, value in {"HOME": "", "VERDIKT_RUNS_DIR": "runs", "VERDIKT_HOME": "data"}.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _call(*words: str, input: str | None = None) -> Any:
    return CliRunner().invoke(command, list(words), input=input)


def test_imported_findings_reach_log_export_and_gate(home: Path) -> None:
    """Findings of a scanner reach the log, the export and the gate."""
    given_sarif = json.dumps(to_sarif([CouncilVerdict("x", FOUND)]))
    assert _call("import", "--plan-hash", "p", "-", input=given_sarif).exit_code == 0
    for form in ("sarif", "junit", "markdown", "json"):
        result = _call("export", "--plan-hash", "p", "--format", form)
        assert result.exit_code == 0
        assert "bad, very" in result.stdout
    stopped = _call("gate", "--annotate")
    assert stopped.exit_code == 2
    assert "::error file=a%2Cb.py" in stopped.stdout
    assert "::" not in _call("gate").stdout
    assert _call("gate", "--min-level", "CRITICAL").exit_code == 0
    assert json.loads(_call("gate", "--json").stdout)["blocked"] is True
    (home / "runs" / "bad.verdict.json").write_text("{")
    assert _call("gate", "--min-level", "CRITICAL").exit_code == 2
    assert _call("gate", "--plan-hash", "none").exit_code == 1


def test_gate_reads_files_and_blocks_without_verdict(home: Path) -> None:
    """Files are judged; no verdict at all blocks."""
    assert _call("gate").exit_code == 2
    (home / "x.sarif").write_text(json.dumps(to_sarif([CouncilVerdict("x", FOUND[:1])])))
    assert _call("gate", "x.sarif").exit_code == 0
    assert _call("gate", "--min-level", "LOW", "x.sarif").exit_code == 2
    (home / "y.sarif").write_text("nonsense")
    result = _call("gate", "x.sarif", "y.sarif")
    assert result.exit_code == 2
    assert "`y.sarif`" in result.stderr


def test_findings_are_recorded_in_the_log(home: Path) -> None:
    """Recorded, refined and cleared findings are in the log."""
    for level in ("MEDIUM", "HIGH"):
        _call("record", "--plan-hash", "p", "--level", level, "--title", "t", "--agent", "a")
    _call("record", "--plan-hash", "p", "--level", "LOW", "--title", "u", "--agent", "a")
    finding = build_finding(level="HIGH", title="t", agent="a")
    store = close_after_test(FileStore(home / "data", projections=load_projections()))
    assert find_open_findings(store, "p") == {
        finding.id: "HIGH",
        build_finding(level="LOW", title="u", agent="a").id: "LOW",
    }
    _call("clear", "--plan-hash", "p", "--id", finding.id, "--by", "ada", "--why", "fixed")
    entries = list(store.read_entries("council-p"))
    assert [entry.kind for entry in entries] == [EntryKind.FINDING] * 3 + [EntryKind.FINDING_CLEARED]
    assert (entries[-1].body["by"], entries[-1].body["why"]) == ("ada", "fixed")
    assert list(find_open_findings(store, "p").values()) == ["LOW"]


def build_scan(count: int) -> str:
    """Return a scan with as many results as rules."""
    results = [{"ruleId": f"R{number}", "message": {"text": f"problem {number}"}} for number in range(count)]
    rules = [{"id": f"R{number}"} for number in range(count)]
    return json.dumps({"runs": [{"tool": {"driver": {"name": "x", "rules": rules}}, "results": results}]})


def test_cost_of_an_import_grows_at_most_linearly(tmp_path: Path) -> None:
    """A scanner that reports thousands of results is imported in proportion to their number."""
    numbers = itertools.count()

    def import_scan(text: str) -> None:
        with FileStore(tmp_path / f"data-{next(numbers)}", None, load_projections(), durable=False) as store:
            log = create_finding_log(lambda: store)
            Runs(tmp_path / f"runs-{next(numbers)}", lambda: 1.0, log).record("p", *read_findings(text.encode()))

    assert measure_growth(import_scan, build_scan, 4000) <= LINEAR_GROWTH


def test_import_is_one_update_of_the_log(tmp_path: Path) -> None:
    """Thousands of findings wait for the disk once; every one of them is an entry, and open."""
    opened = []
    store = close_after_test(FileStore(tmp_path, None, load_projections()))

    def open_store() -> FileStore:
        opened.append(1)
        return store

    Runs(tmp_path / "runs", lambda: 1.0, create_finding_log(open_store)).record(
        "p", *read_findings(build_scan(300).encode())
    )

    assert len(opened) == 1
    assert len(find_open_findings(store, "p")) == 300
    assert sum(entry.kind is EntryKind.FINDING for entry in store.read_entries("council-p")) == 300
