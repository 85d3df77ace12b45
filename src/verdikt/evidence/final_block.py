"""The fenced final block: an optional form in which an agent says, for machines, what it claims. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from verdikt.evidence.contract import Contract
from verdikt.model.lazy_regex import compile_lazily

BLOCK_TYPES = ("done", "partial", "blocked", "delegation")
HIGH_STAKES = compile_lazily(
    r"(?:^|[.!:;,\n]\s*|[-*]\s+|\d[.)]\s+|\b(?:and|then|please|also|now|just|you|to|must|should|let's|it's time to)\s+)"
    r"(?:deploy|redeploy|release|publish|ship|migrate|delete|drop|merge|push|roll(?:\s?out|\s?back)|rotate|revoke|terminate|transfer|wipe|purge"
    r"|decommission|send (?:[\w']+ ){0,5}to (?:the |our |a )?(?:client|customer)s?)\b(?!-| (?:notes?|down|sort|notifications?|buttons?)\b)",
    re.IGNORECASE,
)
"""Requests after which the block is asked for, where it is at all: what they ask for is hard to take back."""

_PARTIAL_FIELDS = ("what_succeeded", "what_remains", "next_route_or_question")
_PLACEHOLDER = compile_lazily(
    r"^\W*(?:tbd|todo|n/?a|none|null|placeholder|xxx+|pending|example|your[-_ ].*|<.*>|\.\.\.|0+|dummy|fake|test)?\W*$",
    re.I,
)


def needs_final_block(contract: Contract) -> bool:
    """Whether the request is of the sort after which the block is wanted."""
    return bool(HIGH_STAKES.search(contract.objective))


def find_blocks(message: str, name: str) -> list[str]:
    """The contents of every fenced block of that name."""
    pattern = re.compile(rf"^[ ]{{0,3}}(`{{3,}}|~{{3,}}){re.escape(name)}[ \t]*\n(.*?)^[ ]{{0,3}}\1", re.M | re.S)
    return [match[2] for match in pattern.finditer(message)]


ValidatorPassLookup = Callable[[int], Mapping[str, Any] | None]
"""What a signed `validator_pass` of the session says, with `hashes` of what it rests on; None when it is none."""


def check_final_block(
    message: str, name: str, contract: Contract | None, look_up: ValidatorPassLookup
) -> tuple[str, ...]:
    """What is wrong with the block; empty when it is as it should be or is not asked for."""
    if contract is None or not needs_final_block(contract):
        return ()
    found = find_blocks(message, name)
    if len(found) != 1:
        return (f"expected one fenced `{name}` block, found {len(found)}",)
    try:
        body = json.loads(found[0])
    except (ValueError, RecursionError):
        return (f"expected JSON in the `{name}` block, found something else",)
    if not isinstance(body, Mapping):
        return (f"expected an object in the `{name}` block, found something else",)
    return tuple(_check_body(body, look_up))


def _check_body(body: Mapping[str, Any], look_up: ValidatorPassLookup) -> list[str]:
    kind = body.get("type")
    if kind not in BLOCK_TYPES:
        return [f"`type`: expected one of {', '.join(BLOCK_TYPES)}, found `{kind}`"]
    faults = []
    if not isinstance(body.get("summary"), str) or _PLACEHOLDER.match(body["summary"]):
        faults.append("`summary`: expected what was done, found nothing")
    claims = body.get("claims")
    claims = [claim for claim in claims if isinstance(claim, Mapping)] if isinstance(claims, list) else []
    if kind == "done" and not any(claim.get("claim_type", "done") == "done" for claim in claims):
        faults.append("`claims`: expected at least one with its signed entry, found none")
    needed = {"blocked": "ladder_exhaustion_proof", "delegation": "fetch_attempt_proof"}.get(kind)
    if needed and not any(claim.get("validator_id") == needed for claim in claims):
        faults.append(f"`claims`: expected one with validator `{needed}`, found none")
    if kind == "partial":
        faults += [
            f"`{slot}`: expected a sentence, found nothing"
            for slot in _PARTIAL_FIELDS
            if not _is_filled(body.get(slot))
        ]
    for claim in claims:
        seq = claim.get("ledger_entry_id")
        number = int(seq) if isinstance(seq, int | str) and re.fullmatch(r"[0-9]{1,15}", str(seq)) else 0
        entry = look_up(number) if number else None
        if entry is None:
            faults.append(f"`ledger_entry_id`: expected a signed entry of this session, found `{str(seq)[:80]}`")
        else:
            faults += _compare_claim(claim, entry)
    return faults


def _compare_claim(claim: Mapping[str, Any], entry: Mapping[str, Any]) -> list[str]:
    """Where a claim says something else than the entry that it names."""
    faults = [
        f"`{key}`: expected `{entry.get(ours)}` as in entry {claim['ledger_entry_id']}, found `{str(claim[key])[:80]}`"
        for key, ours in (("claim_type", "claim"), ("validator_id", "validator"))
        if key in claim and claim[key] != entry.get(ours)
    ]
    named = claim.get("artifact_hash")
    if named is not None and named not in entry["hashes"]:
        faults.append(
            f"`artifact_hash`: expected one of what entry {claim['ledger_entry_id']} rests on, found `{str(named)[:80]}`"
        )
    return faults


def _is_filled(value: object) -> bool:
    return isinstance(value, str) and not _PLACEHOLDER.match(value)
