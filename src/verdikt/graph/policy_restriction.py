"""What a policy file may not do before a person has accepted it: run code or commands, and choose files to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from verdikt.graph.graph_reader import NODE_READERS

INERT_NODE: Mapping[str, Any] = {
    "rules": [{"name": "not_accepted", "kind": "read", "verdict": "pass"}],
}
"""Takes the place of a node that is left out, so that its neighbours keep their positions in error messages."""

_LIST_KEYS = ("guards", "all")
"""Top-level keys whose children must all pass, so that each can be left out by itself."""

_OUTPUT_KEYS = ("memory", "notices")
"""Keys of `evidence` that name files which verdikt writes."""

UNACCEPTED_REVIEW = "its command runs only after a person has run `verdikt policy accept`"
"""What a reviewer asks for whose command is not accepted: a commit that needs it does not pass in silence."""

_REVIEW_KEYS = ("files", "at_most")
"""Settings of a reviewer that do not depend on how it reviews."""

RENAMED = "{} (changed)"
"""Name of a council that is declared differently from the accepted one of the same name; both are in force."""


def restrict_document(document: Mapping[str, Any], accepted: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a policy document without what takes effect only after acceptance, except what is accepted already.

    Left out are nodes with imports (`use`), commands of reviewers, the directory of review runs, and the validators and
    output files of `evidence`. Everything else stays, because it can only tighten: the accepted policy is evaluated
    beside it.
    """
    accepted = tuple(accepted)
    imports = [node for other in accepted for node in _find_imports(other)]
    restricted = {
        key: value
        for key, value in document.items()
        if key not in NODE_READERS or key in _LIST_KEYS or not _has_new_import({key: value}, imports)
    }
    for key in _LIST_KEYS:
        if isinstance(items := restricted.get(key), list):
            restricted[key] = [INERT_NODE if _has_new_import(item, imports) else item for item in items]
    if len(restricted) < len(document):
        # A file whose only node was left out must not become one that says nothing, which is an error.
        restricted.setdefault("guards", [INERT_NODE])
    _restrict_evidence(restricted, accepted)
    _restrict_councils(restricted, accepted)
    return restricted


def _has_new_import(node: Any, imports: list[Any]) -> bool:
    return any(found not in imports for found in _find_imports(node))


def _find_imports(value: Any) -> list[Any]:
    """Return every node with `use` below a value, settings included: another setting is another guard."""
    found: list[Any] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            # An import path has a colon; a setting of another guard may have this name too.
            if ":" in str(item.get("use", "")):
                found.append(dict(item))
            # Rules hold no nodes, but may compare a payload field of any name.
            stack += [inner for key, inner in item.items() if key != "rules"]
        elif isinstance(item, list | tuple):
            stack += item
    return found


def _restrict_evidence(document: dict[str, Any], accepted: tuple[Mapping[str, Any], ...]) -> None:
    section = document.get("evidence")
    if not isinstance(section, Mapping):
        return
    sections = [other["evidence"] for other in accepted if isinstance(other.get("evidence"), Mapping)]
    restricted = {
        key: value
        for key, value in section.items()
        if key not in _OUTPUT_KEYS or any(other.get(key) == value for other in sections)
    }
    # A validator is required of a claim, but it also proves it: `command: "true"` would prove everything.
    if isinstance(validators := section.get("validators"), list):
        known = [validator for other in sections for validator in other.get("validators") or ()]
        restricted["validators"] = [validator for validator in validators if validator in known]
    document["evidence"] = restricted


def _restrict_councils(document: dict[str, Any], accepted: tuple[Mapping[str, Any], ...]) -> None:
    section = document.get("councils")
    if not isinstance(section, Mapping):
        return
    sections = [other["councils"] for other in accepted if isinstance(other.get("councils"), Mapping)]
    councils: dict[str, Any] = {}
    for name, council in section.items():
        if any(other.get(name) == council for other in sections):
            councils[name] = council
        elif isinstance(council, Mapping) and "reviewers" in council:
            is_known = any(name in other for other in sections)
            reviewers = _replace_commands(council["reviewers"])
            councils[RENAMED.format(name) if is_known else name] = {**council, "reviewers": reviewers}
        elif name != "runs_dir":
            councils[name] = council  # an error, which is reported where the section is read
    document["councils"] = councils


def _replace_commands(reviewers: Any) -> Any:
    """Return the reviewers, those that run a command as ones that run none and still have to report."""
    if not isinstance(reviewers, Mapping):
        return reviewers
    return {
        name: {**{key: reviewer[key] for key in _REVIEW_KEYS if key in reviewer}, "agent": UNACCEPTED_REVIEW}
        if isinstance(reviewer, Mapping) and "command" in reviewer
        else reviewer
        for name, reviewer in reviewers.items()
    }
