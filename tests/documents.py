"""The tables in the docs that are made from the code. `make docs` writes them, `test_docs.py` compares them."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from verdikt.cli.exit_status import STATUSES
from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.evidence.section import FIELDS as EVIDENCE_FIELDS
from verdikt.evidence.validator import VALIDATORS
from verdikt.graph.cel_condition import VARIABLES
from verdikt.graph.graph_reader import COMBINATOR_PARTS, NODE_OPTIONS, GraphReader
from verdikt.graph.guard_settings import infer_settings
from verdikt.graph.layer_reader import TOP_LEVEL_KEYS
from verdikt.graph.message_template import PLACEHOLDERS
from verdikt.graph.policy_test import CASE_FIELDS
from verdikt.guards import GUARDS, guard_class
from verdikt.hosts.registry import HOSTS
from verdikt.model.schema_type import Field
from verdikt.policy import get_registry

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def fields(found: dict[str, Field]) -> str:
    """The keys of a mapping."""
    rows = (
        (f"`{key}`" + " (needed)" * wanted.required, wanted.description, wanted.schema_type.description)
        for key, wanted in found.items()
    )
    return table(("key", "says", "written as"), rows)


def guards() -> str:
    """Each built-in guard, its layer and its settings."""
    out = []
    for name in GUARDS:
        made = guard_class(name)
        first = (made.__doc__ or "").splitlines()[0]
        out.append(
            f"#### `{name}`\n\n{first} Layer: {made.governance_layer.name}.\n\n{fields(infer_settings(made) or {})}"
        )
    return "\n".join(out)


def sections() -> str:
    """The top-level keys."""
    found = {**TOP_LEVEL_KEYS, **{name: section.description for name, section in get_registry().sections.items()}}
    return table(("key", "is for"), ((f"`{key}`", about) for key, about in found.items()))


def nodes() -> str:
    """What can be a node of the graph."""
    rows = []
    for kind, options in NODE_OPTIONS.items():
        parts = ", ".join(
            f"`{part}`" + " (may be left out)" * (not needed)
            for part, (_, needed) in COMBINATOR_PARTS.get(kind, {}).items()
        )
        holds = parts or {"not": "one node", "rules": "a list of rules", "use": "`package.module:Class`"}.get(
            kind, "a list of nodes"
        )
        rows.append((f"`{kind}`", holds, ", ".join(f"`{option}`" for option in options)))
    return table(("key", "holds", "beside it may stand"), rows)


def rules() -> str:
    """Every key of a rule."""
    return fields(GraphReader(get_registry()).rule_fields())


def variables() -> str:
    """What a condition can ask about."""
    return table(
        ("variable", "type", "holds"), ((f"`{name}`", kind, about) for name, (kind, _, about) in VARIABLES.items())
    )


def placeholders() -> str:
    """What a reason or a fix can contain."""
    return table(("placeholder", "stands for"), ((f"`{{{name}}}`", about) for name, about in PLACEHOLDERS.items()))


def cases() -> str:
    """Every key of a case."""
    return fields(CASE_FIELDS)


def statuses() -> str:
    """Exit statuses."""
    return table(("command", "status", "means"), ((command, str(status), about) for command, status, about in STATUSES))


def effects() -> str:
    """Every name that an effect can have."""
    rows = (
        (f"`{name}`", known.cls.value, "yes" if known.recoverable else "no", known.meaning)
        for name, known in EFFECT_CATALOG.items()
    )
    return table(("effect", "class", "can be undone", "means that the action"), rows)


def evidence() -> str:
    """The keys of the `evidence` section."""
    return fields(dict(EVIDENCE_FIELDS))


def validators() -> str:
    """Every validator: what it proves and what its arguments bind to."""
    rows = (
        (f"`{one.name}`", one.claim, one.about, ", ".join(one.needs) or "–", ", ".join(one.binds) or "–")
        for one in VALIDATORS.values()
    )
    return table(("validator", "claim", "holds when", "arguments (one of)", "bound to"), rows)


def hosts() -> str:
    """Every host: its page, how it is wired, and what that was tried on."""
    rows = []
    for name, host in HOSTS.items():
        options = " --trust-codex" if host.approval_advice else ""
        wired = f"`verdikt init --host {name}{options}`" if host.scopes else "by hand"
        rows.append((host.title, f"[{name}]({name}.md)", wired, host.proven_on))
    rows.append(("git", "[git](git.md)", "`verdikt init --host git`", "git itself, in `tests/`"))
    return table(("host", "page", "wired by", "proven on"), rows)


def host_answers() -> str:
    """How every host shows an ask and a block, and whether it reports how a command ended."""
    rows = ((host.title, host.asks, host.blocks, host.exit_status.value) for host in HOSTS.values())
    return table(("host", "an ask reaches a person", "a block is", "reports the exit status"), rows)


def host_files() -> str:
    """The files of every host that an agent must not change."""
    rows = (
        (host.title, ", ".join(f"`{file}`" for file in host.all_guarded_files))
        for host in HOSTS.values()
        if host.all_guarded_files
    )
    return table(("host", "guarded files"), rows)


TABLES: dict[str, Callable[[], str]] = {
    made.__name__: made
    for made in (
        guards,
        sections,
        nodes,
        rules,
        variables,
        placeholders,
        cases,
        statuses,
        effects,
        evidence,
        validators,
        hosts,
        host_answers,
        host_files,
    )
}


def generated(text: str) -> str:
    """A page with every generated block made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}{found[3]}", text)


if __name__ == "__main__":
    for page in PAGES:
        text = page.read_text()
        if (made := generated(text)) != text:
            page.write_text(made)
            print(f"wrote {page.relative_to(ROOT)}")
