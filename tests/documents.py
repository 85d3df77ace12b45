"""The tables in the docs that are generated from the code: `make docs` writes them, `test_docs.py` compares them."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from verdikt.cli.exit_status import STATUSES
from verdikt.cli.rule import load_catalogue
from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.evidence.section import FIELDS as EVIDENCE_FIELDS
from verdikt.evidence.validator_registry import VALIDATORS
from verdikt.graph.cel_condition import VARIABLES
from verdikt.graph.graph_reader import APPROVAL_FIELDS, COMBINATOR_PARTS, NODE_OPTIONS, GraphReader
from verdikt.graph.guard_settings import infer_settings
from verdikt.graph.layer_reader import PROFILE_NAMES, TOP_LEVEL_KEYS
from verdikt.graph.message_template import PLACEHOLDERS
from verdikt.graph.policy_test import CASE_FIELDS
from verdikt.guards import GUARDS, guard_class
from verdikt.hosts.host import SCOPES
from verdikt.hosts.registry import HOSTS
from verdikt.knowledge.compiler import compile_files, iter_entries, read_files
from verdikt.model.schema_type import Field
from verdikt.policy import get_registry
from verdikt.report.catalogue import compare_profiles, render_entry

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def render_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def render_fields(fields: dict[str, Field]) -> str:
    """Return a table of the keys of a mapping."""
    rows = (
        (f"`{key}`" + " (needed)" * field.required, field.description, field.schema_type.description)
        for key, field in fields.items()
    )
    return render_table(("key", "says", "written as"), rows)


def guards() -> str:
    """Return each built-in guard with its layer and its settings."""
    parts = []
    for name in GUARDS:
        guard = guard_class(name)
        summary = (guard.__doc__ or "").splitlines()[0]
        settings = render_fields(infer_settings(guard) or {})
        parts.append(f"#### `{name}`\n\n{summary} Layer: {guard.governance_layer.name}.\n\n{settings}")
    return "\n".join(parts)


def sections() -> str:
    """Return the top-level keys."""
    keys = {**TOP_LEVEL_KEYS, **{name: section.description for name, section in get_registry().sections.items()}}
    return render_table(("key", "is for"), ((f"`{key}`", about) for key, about in keys.items()))


def nodes() -> str:
    """Return what can be a node of the graph."""
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
    return render_table(("key", "holds", "beside it may stand"), rows)


def rules() -> str:
    """Return every key of a rule."""
    return render_fields(GraphReader(get_registry()).rule_fields())


def variables() -> str:
    """Return what a condition can ask about."""
    return render_table(
        ("variable", "type", "holds"), ((f"`{name}`", kind, about) for name, (kind, _, about) in VARIABLES.items())
    )


def placeholders() -> str:
    """Return what a reason or a fix can contain."""
    return render_table(
        ("placeholder", "stands for"), ((f"`{{{name}}}`", about) for name, about in PLACEHOLDERS.items())
    )


def cases() -> str:
    """Return every key of a case."""
    return render_fields(CASE_FIELDS)


def statuses() -> str:
    """Return the exit statuses."""
    return render_table(
        ("command", "status", "means"), ((command, str(status), about) for command, status, about in STATUSES)
    )


def effects() -> str:
    """Return every name that an effect can have."""
    rows = (
        (f"`{name}`", definition.cls.value, "yes" if definition.recoverable else "no", definition.meaning)
        for name, definition in EFFECT_CATALOG.items()
    )
    return render_table(("effect", "class", "can be undone", "means that the action"), rows)


def evidence() -> str:
    """Return the keys of the `evidence` section."""
    return render_fields(dict(EVIDENCE_FIELDS))


def validators() -> str:
    """Return every validator: what it proves and what its arguments bind to."""
    rows = (
        (f"`{each.name}`", each.claim, each.about, ", ".join(each.needs) or "–", ", ".join(each.binds) or "–")
        for each in VALIDATORS.values()
    )
    return render_table(("validator", "claim", "holds when", "arguments (one of)", "bound to"), rows)


def hosts() -> str:
    """Every host: its page, how it is wired, and what that was tried on."""
    rows = []
    for name, host in HOSTS.items():
        options = " --trust-codex" if host.approval_advice else ""
        wired = f"`verdikt init --host {name}{options}`" if host.scopes else "by hand"
        rows.append((host.title, f"[{name}]({name}.md)", wired, host.proven_on))
    rows.append(("git", "[git](git.md)", "`verdikt init --host git`", "git itself, in `tests/`"))
    return render_table(("host", "page", "wired by", "proven on"), rows)


def host_answers() -> str:
    """How every host shows an ask and a block, and whether it reports how a command ended."""
    rows = ((host.title, host.asks, host.blocks, host.exit_status.value) for host in HOSTS.values())
    return render_table(("host", "an ask reaches a person", "a block is", "reports the exit status"), rows)


def profiles() -> str:
    """Return every shipped rule with its verdict in each profile."""
    rows = (
        (f"[`{row[0]}`](#{row[0]})", *row[1:]) for row in compare_profiles(load_catalogue().values(), PROFILE_NAMES)
    )
    return render_table(("rule", *PROFILE_NAMES, "why"), rows)


def catalogue() -> str:
    """Return a section for each shipped rule, as `verdikt rule` prints it, without what happened here."""
    parts = []
    for name, entry in load_catalogue().items():
        lines = [line for line in render_entry(entry)[1:] if not line.startswith("  here ")]
        parts.append(f"#### {name}\n\n```text\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


def host_files() -> str:
    """Render the files of every host that an agent must not change."""
    rows = (
        (host.title, ", ".join(f"`{file}`" for file in host.all_guarded_files))
        for host in HOSTS.values()
        if host.all_guarded_files
    )
    return render_table(("host", "guarded files"), rows)


def host_scopes() -> str:
    """Render the file that each scope wires, for every host that `verdikt init` wires."""
    rows = (
        (host.title, *(f"`{files[scope]}`" if scope in files else "–" for scope in SCOPES))
        for host in HOSTS.values()
        if (files := host.settings_files)
    )
    return render_table(("host", *(f"`--scope {scope}`" for scope in SCOPES)), rows)


def families() -> str:
    """Return the families of programs with their pages."""
    rows = (
        (f"[{family}]({family}.md)", file["title"])
        for family, file in read_files().items()
        if "simple" in file or "program" in file
    )
    return render_table(("family", "about"), rows)


def approval() -> str:
    """Return the keys of `approval` in a rule."""
    return render_fields(APPROVAL_FIELDS)


def render_family(family: str) -> str:
    """Return every program of a family with the effects that its rows and its commands may have."""
    rows = []
    for record in compile_files(read_files()).values():
        if record["family"] != family:
            continue
        entries = [entry for _, entry in iter_entries(record)]
        names = sorted({row["does"] for entry in entries for row in entry.get("effects", ())})
        by_code = [f"by code: `{entry['handler']}`" for entry in entries if "handler" in entry]
        programs = " ".join(f"`{name}`" for name in record["names"])
        commands = " ".join(f"`{name}`" for name in record.get("commands", {}))
        effects_text = ", ".join([*(f"`{name}`" for name in names), *dict.fromkeys(by_code)])
        rows.append((programs, commands or "–", effects_text or "–"))
    return render_table(("programs", "commands", "effects"), rows)


TABLES: dict[str, Callable[[], str]] = {
    render.__name__: render
    for render in (
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
        host_scopes,
        profiles,
        catalogue,
        families,
        approval,
    )
}
TABLES |= {
    f"family_{family}": partial(render_family, family)
    for family, file in read_files().items()
    if "simple" in file or "program" in file
}


def update_tables(text: str) -> str:
    """Return a page with every generated block up to date."""
    return BLOCK.sub(lambda match: f"{match[1]}{TABLES[match[2]]()}{match[3]}", text)


def add_family_pages() -> None:
    """Write a page for each family of programs that has none yet."""
    for name in TABLES:
        family = name.removeprefix("family_")
        page = ROOT / "docs" / "programs" / f"{family}.md"
        if name != family and not page.exists():
            title = read_files()[family]["title"]
            intro = f"# Programs: {family}\n\n{title} The [catalogue](../effects.md) explains the effects.\n"
            page.write_text(f"{intro}\n<!-- generated: {name} -->\n{TABLES[name]()}<!-- end -->\n")
            print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    add_family_pages()
    for page in PAGES:
        text = page.read_text()
        if (updated := update_tables(text)) != text:
            page.write_text(updated)
            print(f"wrote {page.relative_to(ROOT)}")
