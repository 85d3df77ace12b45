"""Files that a runner starts without being told their names: `cargo run`, `go run ./cmd/x`, `python tool`, `rake`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.shell.command import Command


class EntryRule(NamedTuple):
    """Where a runner finds its program: where an option or an operand points to, else in the usual place.

    `{}` in a path stands for the word of the command line, `{/}` for its directory.
    """

    verbs: str
    """Subcommands; none for a program that needs none."""
    language: str
    usual: str = ""
    options: str = ""
    named: str = ""
    operands: str = ""


_RULES: dict[str, tuple[EntryRule, ...]] = {
    "cargo": (
        EntryRule("run r", "rust", "src/main.rs", "--bin", "src/bin/{}.rs src/bin/{}/main.rs"),
        EntryRule("run r", "rust", "", "--example", "examples/{}.rs examples/{}/main.rs"),
        EntryRule("run r", "rust", "", "-p --package", "{}/src/main.rs crates/{}/src/main.rs"),
        EntryRule("run r", "rust", "", "--manifest-path", "{/}/src/main.rs"),
    ),
    "go": (EntryRule("run", "go", operands="{}/main.go {}/{=}.go"),),
    "dotnet": (
        EntryRule("run watch", "csharp", "Program.cs", "--project -p", "{}/Program.cs {/}/Program.cs"),
        EntryRule("script run", "csharp", operands="{}"),
    ),
    "swift": (EntryRule("run", "swift", "Sources/main.swift", operands="Sources/{}/main.swift Sources/{}/{}.swift"),),
    "mix": (EntryRule("run", "elixir", operands="{}"),),
    "rails": (EntryRule("runner r", "ruby", operands="{}"),),
    "crystal": (EntryRule("run", "crystal", operands="{}"),),
    "nim": (EntryRule("r c compile", "nim", operands="{} {}.nim"),),
    "rake": (EntryRule("", "rake", "Rakefile rakefile Rakefile.rb"),),
    **dict.fromkeys(
        ("node", "nodejs", "bun"), (EntryRule("", "node", operands="{}/index.js {}/index.mjs {}/index.cjs"),)
    ),
    **dict.fromkeys(("python", "python3", "pypy3"), (EntryRule("", "python", operands="{}/__main__.py"),)),
}
ENTRY_PROGRAMS = frozenset(_RULES)
_MAX_OPERANDS = 3
_TASK = compile_lazily(r"(?m)^[ \t]*(?:multi)?(?:task|file|directory)\b[ \t(]*[:\"']?([\w:-]+)")


class EntryFile(NamedTuple):
    """A place where the program of a runner may be."""

    path: str
    language: str


def list_entry_files(command: Command) -> Iterator[EntryFile]:
    """Yield the files that a command may start, relative to its directory; most of them do not exist."""
    words = [word.text for word in command.argv[1:] if word.is_known]
    if "--" in words:
        words = words[: words.index("--")]
    for rule in _RULES.get(command.name, ()):
        verbs = rule.verbs.split()
        given = next((index for index, word in enumerate(words) if word in verbs), None) if verbs else -1
        if given is None or (verbs and any(word[:1] not in "+-" for word in words[:given])):
            continue
        templates: list[tuple[str, str]] = [("", path) for path in rule.usual.split()]
        options = rule.options.split()
        rest = words[given + 1 :]
        for index, word in enumerate(rest):
            option, equals, value = word.partition("=")
            if option in options:
                name = value if equals else rest[index + 1] if index + 1 < len(rest) else ""
                templates += [(name, path) for path in rule.named.split()]
        # A file of the language itself is read as what the command names.
        operands = [word for word in rest if word[:1] not in ("-", "")][:_MAX_OPERANDS]
        templates += [(word, path) for word in operands for path in rule.operands.split()]
        for name, path in templates:
            yield EntryFile(_fill_template(path, name.rstrip("/") or "."), rule.language)


def _fill_template(path: str, name: str) -> str:
    directory, _, last = name.rpartition("/")
    return path.replace("{/}", directory or ".").replace("{=}", last or name).replace("{}", name)


def select_tasks(text: str, command: Command) -> str:
    """Return the text of a Rakefile without the tasks that a command does not name."""
    names = {word.text.rpartition(":")[2].partition("[")[0] for word in command.argv[1:] if word.text[:1] != "-"}
    parts, start, keeps = [], 0, True
    for match in _TASK.finditer(text):
        if keeps:
            parts.append(text[start : match.start()])
        start, keeps = match.start(), match[1].rpartition(":")[2] in (names or {"default"})
    if keeps:
        parts.append(text[start:])
    return "".join(parts)
