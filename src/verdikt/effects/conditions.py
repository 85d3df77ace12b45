"""Conditions of a record's rows: whether one holds for a command, and which of its words a row is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from verdikt.effects.arguments import matches_any, matches_texts
from verdikt.effects.command_verbs import find_verb, is_recreatable, split_tokens
from verdikt.effects.deployment_stage import list_stages
from verdikt.effects.execution_context import find_preceding
from verdikt.effects.host import is_local_address, is_remote_path
from verdikt.effects.installation_names import is_throwaway
from verdikt.effects.self_protection import names_own_process
from verdikt.effects.word_kinds import get_written_text, has_kind
from verdikt.model.effect import Zone
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

_TEMPORARY_PREFIXES = ("/tmp/", "/var/tmp/")


def holds(conditions: str, call: Invocation) -> bool:
    """Return whether any of these conditions holds: those of `Arguments.has_flag`, and some on the circumstances.

    `verb:delete` asks for the verb among the operands, `noun:recreatable` whether they name something without data,
    `token:a|b` for a part of the words up to the verb, `kind:a|b` for the kind in `KIND NAME` and `KIND/NAME`. Of an
    operand, `zone:0=temp|project` asks where it lies, `state:0=ignored` what git knows of it, `shape:0=remote` what
    it looks like, `is:0=local_host` what it is (see `word_kinds`), `raw:0=a|b*` how it was written;
    `shape:$NAME=here` asks the same of a variable. `env:NAME=a|b*` asks for a variable set for the command,
    `name:a|b` for the name that the program was called by, `line:*a*` for the whole command line in lower case and
    without its blanks, `input:` whether something is handed to its standard input (`input:pipe|file`),
    `upstream:a` for a program in its pipe, `output:shown` whether its output is shown or kept, `earlier:pgrep=a*` for
    words of a command before it, `own:` whether it means a process of verdikt,
    `stage:live` for the installation that it works on, `database:-d=throwaway` for what the name of a database says,
    `item:-G=a|b*` for one of the values that commas separate.
    """
    if not conditions:
        return False
    if ":" not in conditions:
        return call.args.has_flag(conditions)
    # Loops and not `any` and `all`: most rows with a condition come through here, and most terms fail.
    for terms in split_alternatives(conditions):
        for term in terms:
            has = _has_circumstance(term, call) if term.subject else call.args.has_flag(term.text)
            if has is term.is_negated:
                break
        else:
            return True
    return False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConditionTerm:
    """One term of a condition; without a subject it is one that `Arguments.has_flag` knows."""

    text: str
    is_negated: bool
    subject: str
    selector: str
    patterns: str


# Bounded by the number of records: conditions never come from a command.
@cache
def split_alternatives(conditions: str) -> tuple[tuple[ConditionTerm, ...], ...]:
    """Return the terms of each alternative."""
    return tuple(tuple(map(_parse_condition_term, part.split("+"))) for part in conditions.split())


def _parse_condition_term(text: str) -> ConditionTerm:
    plain_text = text.lstrip("!")
    is_negated = (len(text) - len(plain_text)) % 2 == 1
    subject, _, rest = plain_text.partition(":")
    if subject not in _CIRCUMSTANCES and subject != "is":
        return ConditionTerm(plain_text, is_negated, "", "", "")
    is_plain = subject == "line" or "=" not in rest
    selector, patterns = ("", rest) if is_plain else rest.partition("=")[::2]
    return ConditionTerm(plain_text, is_negated, subject, selector, patterns)


def _has_circumstance(term: ConditionTerm, call: Invocation) -> bool:
    """Return whether a term about the circumstances holds, without its negation."""
    if term.subject == "is":
        words = call.args.select_words(term.selector)
        return any(has_kind(word, kind, call) for kind in term.patterns.split("|") for word in words)
    return matches_texts(_CIRCUMSTANCES[term.subject](term.selector, call), term.patterns)


def _find_verb_of(call: Invocation) -> tuple[int, str]:
    table = call.args.table
    texts = [word.text for word in call.args.operands[: table.verb_stop]]
    return find_verb(texts, table.verb_start)


def _list_verbs(_selector: str, call: Invocation) -> list[str]:
    return [_find_verb_of(call)[1]]


def _list_nouns(_selector: str, call: Invocation) -> list[str]:
    """Return `recreatable` if the word of the verb, or the one before it, names something that holds no data."""
    index = _find_verb_of(call)[0]
    texts = [word.text for word in call.args.operands[max(index - 1, 0) : index + 1]]
    return ["recreatable"] if is_recreatable(texts) else []


def _list_tokens(_selector: str, call: Invocation) -> list[str]:
    index = _find_verb_of(call)[0]
    return [token for word in call.args.operands[: index + 1] for token in split_tokens(word.text)]


def _list_kinds(_selector: str, call: Invocation) -> list[str]:
    """Return the kinds of the resources that operands name: `KIND NAME`, `KIND/NAME`, `KIND,KIND`, `KIND.GROUP`.

    Names that come from a listing of the same program are of the kind that is listed: `get pvc -o name | xargs …`.
    """
    texts = [word.text.lower() for word in call.args.operands]
    if len(texts) < 2 and not all(word.is_known for word in call.args.operands):
        listings = [other for other in call.iter_sources() if other.name == call.name]
        texts += [f"{word.text.lower()}/" for other in listings for word in other.argv[2:3]]
    heads = texts[:1] + [text for text in texts[1:] if "/" in text]
    return [kind.split(".", 1)[0] for head in heads for kind in head.split("/", 1)[0].split(",")]


def _list_zones(selector: str, call: Invocation) -> list[str]:
    targets = [call.resolve_path(word) for word in call.args.select_words(selector)]
    zones = [target.zone.value for target in targets]
    # `secret.project`: a file that is named like a secret, in a place where the agent may create files.
    root = call.resolver.project_root
    for target in targets:
        if target.zone is Zone.SECRET and target.path.startswith(_TEMPORARY_PREFIXES):
            zones.append("secret.temp")
        elif target.zone is Zone.SECRET and root and target.path.startswith(root + "/"):
            zones.append("secret.project")
    return zones


def _find_zone(word: Word, call: Invocation) -> str:
    return call.resolve_path(word).zone.value


def _list_shapes(selector: str, call: Invocation) -> list[str]:
    if selector[0] == "$":
        return [_find_shape(value, call) for name, value in call.list_assignments() if name == selector[1:]]
    return [_find_shape(word, call) for word in call.args.select_words(selector)]


def _find_shape(word: Word, _call: Invocation) -> str:
    """Return `unknown`, `here` for an address of this machine, `remote` for any other or `host:path`, else `local`."""
    if not word.is_known:
        return "unknown"
    if is_local_address(word.text):
        return "here"
    return "remote" if "://" in word.text or is_remote_path(word.text) else "local"


def _find_entry_kind(word: Word, call: Invocation) -> str:
    """Return `directory` for what is surely one on this machine, else `file`, also for a link."""
    is_here = word.is_known and not word.glob and not call.command.host
    path = call.resolver.to_absolute(word.text, call.command.cwd) if is_here else ""
    fact = call.facts.path(path, git=False) if path else None
    return "directory" if fact is not None and fact.kind == "dir" and not fact.symlink else "file"


def _list_states(selector: str, call: Invocation) -> list[str]:
    return [call.resolve_path(word, with_state=True).state for word in call.args.select_words(selector)]


def _list_variables(selector: str, call: Invocation) -> list[str]:
    return [value.text for name, value in call.list_assignments() if matches_any(name, selector)]


def _list_names(_selector: str, call: Invocation) -> list[str]:
    return [call.name]


def _list_inputs(_selector: str, call: Invocation) -> list[str]:
    """Return an empty text if something is handed to the command, and what: pipe, text, file, known, path."""
    command = call.command
    files = [r.target.text for r in command.redirects if r.op == "<"]
    kinds = ["file"] * any(not path.startswith("/dev/") for path in files)
    kinds += ["pipe"] * call.has_piped_input()
    kinds += ["text"] * any(r.op in ("<<", "<<<") for r in command.redirects)
    kinds += ["known"] * (command.stdin is not None)
    is_fed = command.stdin is not None or command.pipe_from is not None or any(r.fd == 0 for r in command.redirects)
    return ["", *kinds, *files] if is_fed else kinds


def _list_outputs(_selector: str, call: Invocation) -> list[str]:
    """Return `shown` where the output is shown or kept as it is, and no other program chooses from it."""
    command = call.command
    is_kept = any(r.op in (">", ">>", ">|") and r.target.text != "/dev/null" and r.fd == 1 for r in command.redirects)
    is_shown = command.pipe_to is None and (is_kept or not command.redirects) and command.feeds is None
    return ["shown"] if is_shown else []


def _list_upstream(_selector: str, call: Invocation) -> list[str]:
    return [command.name for command in call.iter_upstream()]


def _list_raw_texts(selector: str, call: Invocation) -> list[str]:
    return [get_written_text(word).replace("/", "\\").lower() for word in call.args.select_words(selector)]


def _list_lines(_selector: str, call: Invocation) -> list[str]:
    return ["".join(call.full_text.split()).lower()]


def _list_earlier_words(selector: str, call: Invocation) -> list[str]:
    names = selector.split("|")
    earlier = find_preceding(call.command, call.commands)
    return [word.text for command in earlier if command.name in names for word in command.argv]


def _list_own_processes(_selector: str, call: Invocation) -> list[str]:
    return [""] if names_own_process(call) else []


def _list_named_stages(_selector: str, call: Invocation) -> list[str]:
    return list_stages(call)


def _list_databases(selector: str, call: Invocation) -> list[str]:
    names = [word.text.rsplit("/", 1)[-1] for word in call.args.select_words(selector)]
    return ["throwaway" for name in names if is_throwaway(name)]


def _list_items(selector: str, call: Invocation) -> list[str]:
    return [item for word in call.args.select_words(selector) for item in word.text.split(",")]


_CIRCUMSTANCES: dict[str, Callable[[str, Invocation], list[str]]] = {
    "verb": _list_verbs,
    "noun": _list_nouns,
    "token": _list_tokens,
    "kind": _list_kinds,
    "zone": _list_zones,
    "state": _list_states,
    "shape": _list_shapes,
    "env": _list_variables,
    "name": _list_names,
    "input": _list_inputs,
    "upstream": _list_upstream,
    "output": _list_outputs,
    "raw": _list_raw_texts,
    "line": _list_lines,
    "earlier": _list_earlier_words,
    "own": _list_own_processes,
    "stage": _list_named_stages,
    "database": _list_databases,
    "item": _list_items,
}
WORD_TRAITS: dict[str, Callable[[Word, Invocation], str]] = {
    "zone": _find_zone,
    "shape": _find_shape,
    "entry": _find_entry_kind,
}


def select_targets(selector: str, call: Invocation) -> Sequence[Word]:
    """Return the words that a row is about; `zone:*=secret` and `shape:*=remote` are those of a kind.

    `program` is the program itself; `input` at the end adds the text on standard input, if it is known.
    """
    if _is_plain_selector(selector):
        return call.args.select_words(selector)
    if selector == "program":
        return call.command.argv[:1]
    if selector == "input" or selector.endswith("|input"):
        words = select_targets(selector[: -len("|input")], call) if "|" in selector else []
        return [*words, Word(call.command.stdin)] if call.command.stdin else words
    subject, _, rest = selector.partition(":")
    name, _, patterns = rest.rpartition("=")
    find_trait = WORD_TRAITS[subject]
    return [word for word in call.args.select_words(name) if matches_any(find_trait(word, call), patterns)]


@cache
def _is_plain_selector(selector: str) -> bool:
    """Return whether the parsed arguments alone say which words a selector names."""
    is_about_call = selector in ("program", "input") or selector.endswith("|input")
    return not is_about_call and selector.partition(":")[0] not in WORD_TRAITS
