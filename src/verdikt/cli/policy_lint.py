"""`verdikt policy lint`: find rules that never fire, never decide, or contradict another."""

import json
import sys

import click

from verdikt.cli.exit_status import EXIT_FAILURE
from verdikt.cli.policy import load_selected_policy, policy_options
from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.graph.lint import lint_policy


@click.command()
@policy_options
@click.option("--witnesses", is_flag=True, help="Also print an action on which each rule fires.")
def command(file: str | None, project: str, managed: str | None, as_json: bool, witnesses: bool) -> None:
    """Find an action on which each rule and pattern fires, and report those for which there is none.

    Also reported: a rule that never decides because another fires on the same actions, one that contradicts another,
    one that says pass, and one about writes that does not see the shell. Status 1 when there is a problem, 65 when the
    policy cannot be loaded.

    Example: verdikt policy lint --policy governance.yaml
    """
    # The catalog is passed in because `graph` may not import `effects`.
    report = lint_policy(
        load_selected_policy(file, project, managed), {name: effect.cls for name, effect in EFFECT_CATALOG.items()}
    )
    if as_json:
        flaws = [
            {"kind": flaw.kind, "rule": flaw.rule, "where": flaw.where, "message": flaw.message}
            for flaw in report.flaws
        ]
        fires = [{"rule": rule, "where": where, "action": str(action)} for rule, where, action in report.witnesses]
        click.echo(json.dumps({"flaws": flaws, "witnesses": fires}, indent=2, ensure_ascii=False))
    else:
        if witnesses:
            for rule, where, action in report.witnesses:
                click.echo(
                    f"{click.style('fires', fg='green')} {rule}  {click.style(where, dim=True)}\n        {action}"
                )
        for flaw in report.flaws:
            click.echo(f"{click.style(flaw.kind, fg='red')} {flaw.where}: {flaw.message}")
        count, problems = len(report.witnesses), len(report.flaws)
        click.echo(f"{count} rule{'s' * (count != 1)} can fire, {problems} problem{'s' * (problems != 1)}")
    sys.exit(EXIT_FAILURE if report.flaws else 0)
