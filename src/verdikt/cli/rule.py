"""`verdikt rule`: the catalogue of rules, or everything about one of them."""

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.store_access import home_option, json_option, open_data_store, resolve_home, resolve_sessions
from verdikt.errors import PolicyError
from verdikt.graph.layer_reader import PROFILE_NAMES
from verdikt.graph.policy import build_unknown_tool_rules
from verdikt.graph.rule import Rule
from verdikt.model.yaml_node import suggest_name
from verdikt.policy import load_policy, parse_policy
from verdikt.report.catalogue import CatalogueEntry, build_catalogue, compare_profiles, render_entry
from verdikt.report.entry_line import verdict_of

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy


def _complete_rule(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in load_catalogue() if name.startswith(incomplete)]


@click.command()
@click.argument("name", required=False, shell_complete=_complete_rule)
@json_option
@home_option
def command(name: str | None, as_json: bool, home: Path | None) -> None:
    """Show one rule: what it stops, why, examples, what to do instead; without a name, list them all.

    \b
    Example: verdikt rule
             verdikt rule git_force_push
    """  # noqa: D301
    entries = load_catalogue(load_policy())
    if name is None:
        if as_json:
            click.echo(json.dumps([entry.to_record() for entry in entries.values()], indent=1, ensure_ascii=False))
            return
        rows = [("rule", *PROFILE_NAMES, "why"), *compare_profiles(entries.values(), PROFILE_NAMES)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(PROFILE_NAMES) + 1)]
        for row in rows:
            cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
            click.echo(f"{cells}  {row[-1]}")
        return
    if name not in entries:
        raise PolicyError(f"no rule `{name}`{suggest_name(name, entries, list_names=False)}; `verdikt rule` lists them")
    entry = replace(entries[name], fired=_count_verdicts(name, home))
    if as_json:
        click.echo(json.dumps(entry.to_record(), indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join(render_entry(entry)))


def load_catalogue(policy: "Policy | None" = None) -> dict[str, CatalogueEntry]:
    """Return every shipped rule, and those of a policy's own layers."""
    policies = {profile: parse_policy(f"profile: {profile}") for profile in PROFILE_NAMES}
    profiles = {
        name: [_dump_rule(rule) for rule in (*shipped.rules, *build_unknown_tool_rules(shipped.unknown_tools).rules)]
        for name, shipped in policies.items()
    }
    path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "profiles", "examples.json")
    with open(path, encoding="utf-8") as file:
        entries = build_catalogue(profiles, json.load(file))
    for layer in policy.layers if policy else ():
        for located in layer.located_items:
            if isinstance(located.item, Rule):
                entries[located.item.name] = CatalogueEntry(
                    rule=_dump_rule(located.item), verdicts={}, source=located.where
                )
    return entries


def _dump_rule(rule: Rule) -> dict[str, Any]:
    return {**rule.dump(), "reason": rule.general_reason}


def _count_verdicts(rule: str, home: Path | None) -> dict[str, int]:
    """Return how often a rule decided here, by verdict."""
    # A look at the catalogue must not create a data directory.
    if not (resolve_home(home) / "ledger").is_dir():
        return {}
    store = open_data_store(home)
    verdicts = (
        verdict_of(entry) for name in resolve_sessions(store, None) for entry in store.reader.read_intact_entries(name)
    )
    return dict(Counter(kind for kind, guard in verdicts if guard == rule))
