"""The `councils` section of a policy file: who reviews what, when, and whether it stops a commit."""

import fnmatch
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from verdikt.errors import FindingError
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.finding import Level
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.plan import DEFAULT_BUDGET_SECONDS, DEFAULT_BUDGET_TOKENS, SCOPE_MODES
from verdikt.model.schema_type import (
    Field,
    SchemaType,
    Section,
    bool_type,
    choice_list_type,
    choice_type,
    int_type,
    mapping_schema,
    mapping_type,
    read_fields,
    text_list_type,
    text_type,
)
from verdikt.model.yaml_node import YamlNode

TRIGGERS = ("pre-commit", "pre-push", "manual", "session-start", "session-end", "file-save")
RUNS_DIR = "runs_dir"
"""The only key of the section that is not a council: the directory of plans and verdicts."""

_DIGEST = compile_lazily(r"[0-9a-fA-F]{64}\Z")

FILES_PLACEHOLDER = "{files}"
"""The word of a command that is replaced by the files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """A reviewer of files: a command that prints SARIF or findings, or an agent that records them."""

    name: str
    command: tuple[str, ...] = ()
    agent: str = ""  # what an agent should look for
    files: tuple[str, ...] = ()
    at_most: str = Level.CRITICAL.name
    seconds: int = 0  # 0: the council's budget
    # Linters and scanners end with 1 when they have findings, which is a success for us.
    accept: tuple[int, ...] = (0, 1)
    key_sha256: str = ""  # the digest of the secret by which an agent shows that it is this reviewer

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.agent):
            raise FindingError(f"reviewer `{self.name}`: expected either `command` or `agent`, found both or neither")
        if self.key_sha256 and (self.command or not _DIGEST.match(self.key_sha256)):
            raise FindingError(
                f"reviewer `{self.name}`: expected `key_sha256` with 64 hex digits for an agent, found something else"
            )

    def has_key(self, secret: str) -> bool:
        """Return whether a secret is this reviewer's key."""
        return bool(self.key_sha256 and secret) and sha256_hex(secret.encode()) == self.key_sha256.lower()

    def covers_file(self, file: str) -> bool:
        """Return whether it reviews this file."""
        return _matches_any(file, self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Council:
    """Reviewers, their files and triggers; with a guardrail, their findings stop the commit."""

    name: str
    reviewers: tuple[Reviewer, ...]
    trigger: tuple[str, ...] = ("pre-commit",)
    scope: str = "diff"
    files: tuple[str, ...] = ()
    guardrail: bool = False
    self_review: bool = False  # whether an agent under governance may report as one of the reviewers
    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    budget_seconds: int = DEFAULT_BUDGET_SECONDS

    def __post_init__(self) -> None:
        # Without reviewers its verdict would always be clean.
        if not self.reviewers:
            raise FindingError(f"council `{self.name}`: expected at least one reviewer, found none")
        if self.scope == "explicit" and not self.files:
            raise FindingError(f"council `{self.name}`: the scope `explicit` needs `files`")

    def covers_file(self, file: str) -> bool:
        """Return whether a file is within its scope."""
        return _matches_any(file, self.files)


def _matches_any(file: str, patterns: Sequence[str]) -> bool:
    """Return whether a file matches one of the patterns; no patterns match every file."""
    return not patterns or any(matches_pattern(file, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Councils:
    """All councils of a policy by name, and the directory of their plans and verdicts; empty: the default one."""

    councils: Mapping[str, Council] = field(default_factory=dict)
    runs_dir: str = ""

    def find_by_trigger(self, trigger: str) -> list[Council]:
        """Return the councils with this trigger."""
        return [council for council in self.councils.values() if trigger in council.trigger]

    def get_council(self, name: str) -> Council:
        """Return the council of that name; raise `FindingError` when there is none."""
        if name not in self.councils:
            known = ", ".join(f"`{known}`" for known in self.councils) or "none; declare one under `councils`"
            raise FindingError(f"expected a council of the policy, found `{name}`; it has {known}")
        return self.councils[name]


def matches_pattern(file: str, pattern: str) -> bool:
    """Return whether a path matches a pattern; `*` matches anything, `**/` any directories or none."""
    file = file.replace("\\", "/")
    # fnmatch does not know `**`: for it, `*` already crosses directories, so only "none" needs care.
    while True:
        if fnmatch.fnmatchcase(file, pattern):
            return True
        if not pattern.startswith("**/"):
            return fnmatch.fnmatchcase(file, pattern.replace("/**/", "/"))
        pattern = pattern.removeprefix("**/")


def _read_command(node: YamlNode) -> tuple[str, ...] | None:
    if isinstance(node.value, str):
        try:
            words = tuple(shlex.split(node.value))
        except ValueError as error:
            node.add_mismatch(f"a command ({error})")
            return None
        if not words:
            node.add_mismatch("a command")
        return words or None
    return node.read_texts(what="a command as a text or a list of words") or None


def _read_statuses(node: YamlNode) -> tuple[int, ...] | None:
    statuses = [item.read_int(minimum=0, maximum=255) for item in node.read_one_or_more(what="exit statuses")]
    return tuple(status for status in statuses if status is not None) or None


_STRING_LIST_SCHEMA = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
_STATUS_SCHEMA = {"type": "integer", "minimum": 0, "maximum": 255}

REVIEWER_FIELDS: Mapping[str, Field] = {
    "command": Field(
        SchemaType(
            _read_command,
            {"oneOf": [{"type": "string", "minLength": 1}, _STRING_LIST_SCHEMA]},
            "text, or a list of words",
        ),
        "a program that prints SARIF or findings as JSON; `{files}` stands for the files",
    ),
    "agent": Field(text_type(), "what an agent should look for; it calls `verdikt findings record`"),
    "files": Field(text_list_type(), "patterns of the files that it reviews; absent: all of the plan"),
    "at_most": Field(choice_type(tuple(Level.__members__)), "the worst level that its findings may have"),
    "seconds": Field(int_type(1), "how long it may take; absent: the council's budget"),
    "key_sha256": Field(text_type(), "SHA-256 of the secret in an agent reviewer's `VERDIKT_REVIEWER_KEY`"),
    "accept": Field(
        SchemaType(
            _read_statuses,
            {"oneOf": [_STATUS_SCHEMA, {"type": "array", "items": _STATUS_SCHEMA, "minItems": 1}]},
            "whole number, or a list of them",
        ),
        "exit statuses of a run that succeeded; absent: 0 and 1",
    ),
}

BUDGET_FIELDS: Mapping[str, Field] = {
    "tokens": Field(int_type(0), "tokens that agents may use"),
    "seconds": Field(int_type(1), "seconds that commands may take"),
}


def _read_reviewers(node: YamlNode) -> tuple[Reviewer, ...] | None:
    reviewers = []
    if node.value == {}:
        node.add_mismatch("at least one reviewer")
    for name, inner in node.read_mapping(what="reviewers by name").items():
        if not isinstance(inner.value, Mapping):
            inner.add_mismatch("a mapping with `command` or `agent`")
            continue
        values = read_fields(inner, REVIEWER_FIELDS)
        reviewer = inner.try_build(partial(Reviewer, name=name, **values))
        reviewers += [reviewer] if reviewer else []
    return tuple(reviewers) or None


_REVIEWERS_TYPE = SchemaType(
    _read_reviewers,
    {"type": "object", "minProperties": 1, "additionalProperties": mapping_schema(REVIEWER_FIELDS)},
    "reviewers by name",
)

COUNCIL_FIELDS: Mapping[str, Field] = {
    "reviewers": Field(_REVIEWERS_TYPE, "who reviews the files", required=True),
    "trigger": Field(choice_list_type(TRIGGERS), "when it is called; absent: pre-commit"),
    "scope": Field(
        choice_type(SCOPE_MODES), "diff: what changes; full: every file; explicit: the files named under `files`"
    ),
    "files": Field(text_list_type(), "patterns of the files within its scope"),
    "guardrail": Field(bool_type(), "whether HIGH and CRITICAL findings, or no verdict, stop the commit"),
    "self_review": Field(bool_type(), "whether the agent whose work is reviewed may report as a reviewer itself"),
    "budget": Field(mapping_type(BUDGET_FIELDS, "`tokens` and `seconds`"), "what it may use"),
}


def read_councils(node: YamlNode) -> Councils | None:
    """Return the councils, or None after recording the errors on the node."""
    councils: dict[str, Council] = {}
    runs_dir = ""
    for name, inner in node.read_mapping().items():
        if name == RUNS_DIR:
            runs_dir = inner.read_text(what="a directory") or ""
        elif not isinstance(inner.value, Mapping):
            inner.add_mismatch("a mapping with `reviewers`")
        else:
            council = inner.try_build(partial(_build_council, name, read_fields(inner, COUNCIL_FIELDS)))
            councils |= {name: council} if council else {}
    return Councils(councils, runs_dir)


def _build_council(name: str, values: dict[str, Any]) -> Council | None:
    if not values.get("reviewers"):
        return None
    budget = values.pop("budget", {})
    council = Council(name=name, **values)
    return replace(
        council,
        budget_tokens=budget.get("tokens", council.budget_tokens),
        budget_seconds=budget.get("seconds", council.budget_seconds),
    )


def merge_councils(layers: Sequence[Councils]) -> Councils:
    """Merge the councils of all layers; of two with one name the higher wins, with the guardrail of either."""
    # A project could otherwise switch a guardrail off by declaring the council again.
    councils: dict[str, Council] = {}
    for layer in layers:
        for name, council in layer.councils.items():
            upper = councils.get(name)
            councils[name] = _tighten_council(upper, council) if upper else council
    return Councils(councils, next((layer.runs_dir for layer in layers if layer.runs_dir), ""))


def _tighten_council(upper: Council, lower: Council) -> Council:
    return replace(
        upper, guardrail=upper.guardrail or lower.guardrail, self_review=upper.self_review and lower.self_review
    )


SECTION = Section(
    SchemaType(
        read_councils,
        {
            "type": "object",
            "properties": {RUNS_DIR: {"type": "string", "minLength": 1}},
            "additionalProperties": mapping_schema(COUNCIL_FIELDS),
        },
        "councils by name",
    ),
    "who reviews what before a commit",
    merge_councils,
)
