"""The catalogue: every shipped rule with its verdict in each profile, and one rule in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_TEMPLATE_WORDS = {"{by}": "the command", "{target}": "the target", "{tool}": "the tool", "{note}": "…"}
"""Placeholder of a reason → words for the catalogue, where there is no command."""

_NOT_CONDITIONS = ("name", "verdict", "unless", "reason", "fix", "red_line", "exceptions")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """One rule as plain data, its verdict by profile, and commands that it stops or lets pass."""

    rule: Mapping[str, Any]
    verdicts: Mapping[str, str]
    stops: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    source: str = ""
    fired: Mapping[str, int] = field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        shown = {key: self.rule.get(key, "") for key in ("verdict", "red_line", "reason", "fix")}
        return {
            "rule": self.rule["name"],
            **shown,
            "profiles": dict(self.verdicts),
            "stops": list(self.stops),
            "passes": list(self.passes),
            "source": self.source,
            "fired": dict(self.fired),
        }


def describe_reason(reason: str) -> str:
    """Return the reason of a rule with general words where a verdict names the command and its target."""
    for placeholder, words in _TEMPLATE_WORDS.items():
        reason = reason.replace(f"`{placeholder}`", words).replace(placeholder, words)
    return reason


def build_catalogue(
    profiles: Mapping[str, Iterable[Mapping[str, Any]]], examples: Mapping[str, Mapping[str, list[str]]]
) -> dict[str, CatalogueEntry]:
    """Return the rules of several profiles by name, in the order of the profiles."""
    rules: dict[str, Mapping[str, Any]] = {}
    verdicts: dict[str, dict[str, str]] = {}
    for profile, profile_rules in profiles.items():
        for rule in profile_rules:
            rules.setdefault(rule["name"], rule)
            verdicts.setdefault(rule["name"], {})[profile] = rule["verdict"]
    return {
        name: CatalogueEntry(
            rule=rule,
            verdicts=verdicts[name],
            stops=tuple(examples.get(name, {}).get("stops", ())),
            passes=tuple(examples.get(name, {}).get("passes", ())),
            source="profile " + ", ".join(verdicts[name]),
        )
        for name, rule in rules.items()
    }


def render_entry(entry: CatalogueEntry) -> list[str]:
    """Return one rule in words: what it stops, why, examples, what to do instead, and how to make an exception."""
    rule = entry.rule
    kind = "red line: blocks, and nothing gets past it" if rule["red_line"] else f"says {rule['verdict']}"
    lines = [f"{rule['name']}  ({kind})", f"  why       {describe_reason(rule['reason'])}"]
    lines += [f"  instead   {describe_reason(rule['fix'])}"] if rule["fix"] else []
    conditions = {key: value for key, value in rule.items() if key not in _NOT_CONDITIONS}
    lines += [f"  when      {key}: {_render_value(value)}" for key, value in conditions.items()]
    lines += [f"  unless    {key}: {_render_value(value)}" for key, value in rule.get("unless", {}).items()]
    lines += [f"  stops     {text}" for text in entry.stops]
    lines += [f"  lets pass {text}" for text in entry.passes]
    counts = ", ".join(f"{count} × {word}" for word, count in entry.fired.items())
    lines += [f"  from      {entry.source}", f"  here      {counts or 'never'}"]
    if not rule["red_line"]:
        lines.append(f"  allow     verdikt allow last, or verdikt allow {rule['name']} --path GLOB (or --command TEXT)")
    return lines


def _render_value(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {inner}" for key, inner in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def compare_profiles(entries: Iterable[CatalogueEntry], profiles: Iterable[str]) -> list[tuple[str, ...]]:
    """Return one row for each rule: its name, its verdict in each profile, and why."""
    names = tuple(profiles)
    return [
        (
            entry.rule["name"],
            *(entry.verdicts.get(profile, "–") for profile in names),
            describe_reason(entry.rule["reason"]),
        )
        for entry in entries
    ]
