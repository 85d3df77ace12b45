"""`verdikt knowledge`: what verdikt knows of programs, and help with adding to it."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from verdikt.cli.exit_status import EXIT_FAILURE
from verdikt.cli.suggesting_group import SuggestingGroup
from verdikt.effects.command_verbs import classify_word
from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.effects.program_layer import ProgramLayer
from verdikt.effects.record_check import find_row_mistakes
from verdikt.errors import PolicyError
from verdikt.knowledge import find_record, list_programs
from verdikt.knowledge.compiler import PROGRAMS, Record, RecordError, compile_files, iter_entries, read_files
from verdikt.knowledge.completion_spec import read_carapace_spec, read_fig_spec, read_usage_spec
from verdikt.knowledge.draft import Draft, DraftError, read_help, render_record
from verdikt.knowledge.lint import lint_files, lint_overlaps, lint_records, lint_reports
from verdikt.model.yaml_node import suggest_name
from verdikt.policy import load_policy
from verdikt.report.counted_noun import format_count

_HELP_SECONDS = 10
_SPEC_READERS: Mapping[str, Callable[[str], Draft]] = {
    ".yaml": read_carapace_spec,
    ".yml": read_carapace_spec,
    ".json": read_fig_spec,
    ".kdl": read_usage_spec,
}


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Show, check and draft the records that say what programs do.

    Example: verdikt knowledge show kubectl
    """


@command.command()
@click.argument("place", metavar="[FILE|DIRECTORY]", type=click.Path(path_type=Path, exists=True), default=PROGRAMS)
def lint(place: Path) -> None:
    """Check records, by default those that verdikt ships; status 1 when there are mistakes.

    Example: verdikt knowledge lint tools.toml
    """
    try:
        files = read_files(place)
        records = compile_files(files)
    except RecordError as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_FAILURE)
    problems = [*lint_files(files), *lint_reports(files), *lint_records(records, EFFECT_CATALOG)]
    problems += lint_overlaps(records, find_record)
    problems += [
        f"{record['family']}.toml: {name}: {mistake}"
        for name, record in records.items()
        for mistake in find_row_mistakes(record)
    ]
    for problem in problems:
        click.echo(problem)
    result = format_count(len(problems), "problem") if problems else "clean"
    click.echo(f"{format_count(len(records), 'record')}: {result}")
    sys.exit(EXIT_FAILURE if problems else 0)


@command.command()
@click.argument("program")
def show(program: str) -> None:
    """Show what is known of a program, also by the policy in force here; status 1 when nothing is.

    Example: verdikt knowledge show kubectl
    """
    shipped, own_records = find_record(program), _load_policy_records()
    records = [*([shipped] if shipped is not None else []), *own_records.get(program, ())]
    if not records:
        names = [*list_programs(), *own_records]
        click.echo(f"no record of `{program}`{suggest_name(program, names, list_names=False)}", err=True)
        sys.exit(EXIT_FAILURE)
    for record in records:
        click.echo(f"{' '.join(record['names'])} ({record['family']})")
        for path, entry in iter_entries(record):
            for line in _describe_entry(entry):
                click.echo(f"  {path}: {line}" if path else f"  {line}")


def _load_policy_records() -> Mapping[str, tuple[Record, ...]]:
    """Return the records that the policy files of this directory have, by the names of programs."""
    try:
        layer = load_policy().section("knowledge")
    except PolicyError as error:
        click.echo(f"the policy can't be read, so its records are not shown: {error}", err=True)
        return {}
    return layer.records if isinstance(layer, ProgramLayer) else {}


def _describe_entry(entry: Record) -> list[str]:
    """Return one line for each thing that an entry says."""
    lines = [f"{key} {entry[key]}" for key in ("values", "globals", "flags", "dry_run", "needs") if key in entry]
    lines += [_describe_effect(row) for row in entry.get("effects", ())]
    lines += [f"handler {entry['handler']}"] if "handler" in entry else []
    return lines + (["runs another command"] if {"runs", "trace", "exec", "code"} & entry.keys() else [])


def _describe_effect(row: Record) -> str:
    parts = [f"does {row['does']}"]
    parts += [f"on {row['on']}"] if "on" in row else []
    parts += [f"{key} {row[key]}" for key in ("when", "unless") if key in row]
    return ", ".join(parts)


@command.command()
@click.argument("program")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A saved help text, or a spec of carapace (.yaml), fig (.json) or usage (.kdl).",
)
def learn(program: str, source: Path | None) -> None:
    """Draft a record from a program's help or from a completion spec; for you to review.

    Without `--from` it runs `PROGRAM --help`.

    Example: verdikt knowledge learn pgcopydb > pgcopydb.toml
    """
    draft = _read_source(source) if source is not None else read_help(_run_help(program))
    click.echo(render_record(Path(program).name, draft, classify_word), nl=False)


def _read_source(source: Path) -> Draft:
    read = _SPEC_READERS.get(source.suffix.lower(), read_help)
    try:
        return read(source.read_text(encoding="utf-8"))
    except (DraftError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{source}: {error}") from error


def _run_help(program: str) -> str:
    """Return what `PROGRAM --help` prints."""
    path = shutil.which(program)
    if path is None:
        raise click.ClickException(f"`{program}` is not installed; give a saved help text with `--from`")
    try:
        completed_process = subprocess.run(
            [path, "--help"],
            capture_output=True,
            text=True,
            timeout=_HELP_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise click.ClickException(f"`{program} --help` failed: {error}") from error
    return completed_process.stdout or completed_process.stderr
