"""`verdikt policy test`: run the cases that say what a policy must decide."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from verdikt.cli.exit_status import EXIT_FAILURE
from verdikt.cli.output_path import OutputPath
from verdikt.cli.policy import exit_with_faults, load_selected_policy, policy_options
from verdikt.decide import decide
from verdikt.errors import PolicyError
from verdikt.graph.policy import Policy
from verdikt.graph.policy_test import PolicyCase, read_cases
from verdikt.model.facts import Facts
from verdikt.model.session_state import SessionState
from verdikt.model.verdict import Decision
from verdikt.model.yaml_document import parse_document
from verdikt.observe.policy_files import read_policy_file
from verdikt.report.junit import TestResult, render_junit

# Case files inside dependencies and build results are copies, or test another policy.
SKIPPED_DIRECTORIES = {"node_modules", "__pycache__", "build", "dist"}


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True))
@policy_options
@click.option("--junit", "junit_file", type=OutputPath(dir_okay=False), help="Also write the results as JUnit XML.")
def command(
    *,
    files: tuple[str, ...],
    file: str | None,
    project: str,
    managed: str | None,
    as_json: bool,
    junit_file: str | None,
) -> None:
    """Run the cases in FILES, default: every *.cases.yaml below the project, and show those that fail.

    Commands are only analysed as text, never executed. Status 1 when a case fails or none is found, 65 when the
    policy or a case cannot be read.

    Example: verdikt policy test team.cases.yaml --junit report.xml
    """
    policy = load_selected_policy(file, project, managed)
    try:
        cases = list(_load_cases(files or (project,)))
    except PolicyError as error:
        exit_with_faults(error)
    results = [
        TestResult(case.where.rsplit(":", 2)[0], case.name, case.where, failure)
        for case, failure in run_cases(policy, cases)
    ]
    if junit_file:
        Path(junit_file).write_text(render_junit(results), encoding="utf-8")
    if as_json:
        rows = [{"name": r.name, "where": r.where, "passed": not r.failure, "failure": r.failure} for r in results]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        _print_results(results)
    # No case at all fails as well: a typing error in a file name must not look like success.
    sys.exit(EXIT_FAILURE if not results or any(result.failure for result in results) else 0)


def _load_cases(paths: Sequence[str]) -> Iterator[PolicyCase]:
    # All files are read before the first error is raised, so that one run shows every mistake.
    faults: list[PolicyError] = []
    for path in _find_case_files(paths):
        try:
            document = parse_document(read_policy_file(path) or b"", path)
            yield from read_cases(document)
            document.raise_errors()
        except PolicyError as error:
            faults += error.faults
    if faults:
        raise PolicyError.from_faults(faults)


def _find_case_files(paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        if not Path(path).is_dir():
            yield path
            continue
        for case_file in sorted(Path(path).rglob("*.cases.yaml")):
            parts = case_file.relative_to(path).parts
            if not any(part.startswith(".") or part in SKIPPED_DIRECTORIES for part in parts):
                yield str(case_file)


def run_cases(policy: Policy, cases: Sequence[PolicyCase]) -> Iterator[tuple[PolicyCase, str]]:
    """Yield each case with the reason for its failure; an empty text when it passed."""
    # Cases of one session share its state, so that a case can depend on those before it.
    sessions: dict[str, SessionState] = {}
    for case in cases:
        action = case.action
        session = sessions.setdefault(action.session_id, SessionState(action.session_id))
        decision = decide(action, Facts(case.world), session, case.posture or policy.posture, policy)
        yield case, _describe_mismatch(case, decision)


def _describe_mismatch(case: PolicyCase, decision: Decision) -> str:
    """Return what was expected and what was found, line by line; empty when they agree."""
    verdict = decision.verdict
    wanted = f"{case.verdict} by {case.guard}" if case.guard else case.verdict
    agree = verdict.kind.word == case.verdict and case.guard in (None, verdict.guard)
    lines = [] if agree else [f"expected  {wanted}", f"found     {verdict.kind.word} by {verdict.guard}"]
    for name, part, whole in (("reason", case.reason, verdict.reason), ("fix", case.fix, verdict.fix)):
        if part is not None and part not in whole:
            lines += [f"expected  {name} with “{part}”", f"found     {name} “{whole}”"]
    if case.approved not in (None, decision.approved):
        lines += [
            f"expected  {'' if case.approved else 'not '}approved",
            f"found     {'' if decision.approved else 'not '}approved",
        ]
    if not lines:
        return ""
    action = case.action
    if not agree and verdict.reason:
        lines.append(f"because   {verdict.reason}")
    lines.append(f"asked     {action.tool} {action.command or action.path or dict(action.payload)}")
    effects = [f"{effect.what} {effect.target}".strip() for effect in decision.effects]
    lines.append(f"effects   {'; '.join(effects) or 'none'}")
    return "\n".join(lines)


def _print_results(results: Sequence[TestResult]) -> None:
    for result in results:
        if result.failure:
            click.echo(f"{click.style('✗', fg='red')} {result.name}  {click.style(result.where, dim=True)}")
            for line in result.failure.splitlines():
                colour = {"expected": "green", "found": "red"}.get(line.split()[0])
                click.echo("    " + click.style(line, fg=colour))
    failed = sum(1 for result in results if result.failure)
    if not results:
        click.echo("no cases found: write some in a file named *.cases.yaml, or name the files", err=True)
    else:
        click.echo(f"{len(results) - failed} passed, {failed} failed")
