"""The fenced final block: an optional form in which an agent says, for machines, what it claims. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from verdikt.evidence.contract import Contract
from verdikt.model.regex import regex

TYPES = ("done", "partial", "blocked", "delegation")
HIGH_STAKES = regex(
    r"\b(?:deploy|release|publish|ship|migrate|delete|drop|merge|push|roll ?(?:out|back)|rotate|revoke|terminate)\w*\b",
    re.IGNORECASE,
)
"""Verbs of requests after which the block is asked for, where it is at all."""

_SLOTS = ("what_succeeded", "what_remains", "next_route_or_question")
_PLACEHOLDER = regex(
    r"^\W*(?:tbd|todo|n/?a|none|null|placeholder|xxx+|pending|example|your[-_ ].*|<.*>|\.\.\.|0+|dummy|fake|test)?\W*$",
    re.I,
)


def asks_for_block(contract: Contract) -> bool:
    """Whether the request is of the sort after which the block is wanted."""
    return bool(HIGH_STAKES.search(contract.objective))


def blocks(message: str, name: str) -> list[str]:
    """The contents of every fenced block of that name."""
    pattern = re.compile(rf"^[ ]{{0,3}}(`{{3,}}|~{{3,}}){re.escape(name)}[ \t]*\n(.*?)^[ ]{{0,3}}\1", re.M | re.S)
    return [match[2] for match in pattern.finditer(message)]


def final_faults(message: str, name: str, contract: Contract | None, signed: Callable[[int], bool]) -> tuple[str, ...]:
    """What is wrong with the block; empty when it is as it should be or is not asked for.

    `signed` says whether an entry of this session is a signed `validator_pass`.
    """
    if contract is None or not asks_for_block(contract):
        return ()
    found = blocks(message, name)
    if len(found) != 1:
        return (f"expected one fenced `{name}` block, found {len(found)}",)
    try:
        body = json.loads(found[0])
    except (ValueError, RecursionError):
        return (f"expected JSON in the `{name}` block, found something else",)
    if not isinstance(body, Mapping):
        return (f"expected an object in the `{name}` block, found something else",)
    return tuple(_faults(body, signed))


def _faults(body: Mapping[str, Any], signed: Callable[[int], bool]) -> list[str]:
    kind = body.get("type")
    if kind not in TYPES:
        return [f"`type`: expected one of {', '.join(TYPES)}, found `{kind}`"]
    faults = []
    if not isinstance(body.get("summary"), str) or _PLACEHOLDER.match(body["summary"]):
        faults.append("`summary`: expected what was done, found nothing")
    claims = body.get("claims")
    claims = [claim for claim in claims if isinstance(claim, Mapping)] if isinstance(claims, list) else []
    if kind == "done" and not claims:
        faults.append("`claims`: expected at least one with its signed entry, found none")
    needed = {"blocked": "ladder_exhaustion_proof", "delegation": "fetch_attempt_proof"}.get(kind)
    if needed and not any(claim.get("validator_id") == needed for claim in claims):
        faults.append(f"`claims`: expected one with validator `{needed}`, found none")
    if kind == "partial":
        faults += [f"`{slot}`: expected a sentence, found nothing" for slot in _SLOTS if not _told(body.get(slot))]
    for claim in claims:
        seq = claim.get("ledger_entry_id")
        number = int(seq) if isinstance(seq, int | str) and str(seq).isdigit() else 0
        if not number or not signed(number):
            faults.append(f"`ledger_entry_id`: expected a signed entry of this session, found `{seq}`")
    return faults


def _told(value: object) -> bool:
    return isinstance(value, str) and not _PLACEHOLDER.match(value)
