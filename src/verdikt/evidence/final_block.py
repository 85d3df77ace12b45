"""The fenced final block: an optional, machine-readable form of an agent's claims. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from verdikt.model.lazy_regex import compile_lazily
from verdikt.prompts.contract import Contract

BLOCK_TYPES = ("done", "partial", "blocked", "delegation")
HIGH_STAKES = compile_lazily(
    r"(?:^|[.!:;,\n]\s*|[-*]\s+|\d[.)]\s+|\b(?:and|then|please|also|now|just|you|to|must|should|let's|it's time to)\s+)"
    r"(?:deploy|redeploy|release|publish|ship|migrate|delete|drop|merge|push|roll(?:\s?out|\s?back)|rotate|revoke"
    r"|terminate|transfer|wipe|purge"
    r"|decommission|send (?:[\w']+ ){0,5}to (?:the |our |a )?(?:client|customer)s?)\b(?!-| (?:notes?|down|sort"
    r"|notifications?|buttons?)\b)",
    re.IGNORECASE,
)
"""Requests after which the block is required, where it is at all: what they ask for is hard to undo."""

_PARTIAL_FIELDS = ("what_succeeded", "what_remains", "next_route_or_question")
_PLACEHOLDER = compile_lazily(
    r"^\W*(?:tbd|todo|n/?a|none|null|placeholder|xxx+|pending|example|your[-_ ].*|<.*>|\.\.\.|0+|dummy|fake|test)?\W*$",
    re.I,
)


def needs_final_block(contract: Contract) -> bool:
    """Return whether the request is one after which the block is required."""
    return contract.asks_for_work and bool(HIGH_STAKES.search(contract.objective))


def find_blocks(message: str, name: str) -> list[str]:
    """Return the contents of every fenced block of that name."""
    # CommonMark: a fence may be indented by up to three spaces, and closes with the same characters.
    pattern = re.compile(rf"^[ ]{{0,3}}(`{{3,}}|~{{3,}}){re.escape(name)}[ \t]*\n(.*?)^[ ]{{0,3}}\1", re.M | re.S)
    return [match[2] for match in pattern.finditer(message)]


ValidatorPassLookup = Callable[[int], Mapping[str, Any] | None]
"""Seq → body of a signed `validator_pass` of the session, with `hashes` of what it rests on; None: there is none."""


def check_final_block(
    message: str, name: str, contract: Contract | None, look_up: ValidatorPassLookup
) -> tuple[str, ...]:
    """Return what is wrong with the block; empty when it is right or not required."""
    if contract is None or not needs_final_block(contract):
        return ()
    blocks = find_blocks(message, name)
    if len(blocks) != 1:
        return (f"expected one fenced `{name}` block, found {len(blocks)}",)
    try:
        body = json.loads(blocks[0])
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
        faults += _check_claim(claim, look_up)
    return faults


def _check_claim(claim: Mapping[str, Any], look_up: ValidatorPassLookup) -> list[str]:
    """Return what is wrong with a claim: no signed entry, or one that says something else."""
    seq = claim.get("ledger_entry_id")
    # Bounded digits: int() refuses very long numbers with an error.
    number = int(seq) if isinstance(seq, int | str) and re.fullmatch(r"[0-9]{1,15}", str(seq)) else 0
    entry = look_up(number) if number else None
    if entry is None:
        return [f"`ledger_entry_id`: expected a signed entry of this session, found `{str(seq)[:80]}`"]
    faults = [
        f"`{key}`: expected `{entry.get(field)}` as in entry {seq}, found `{str(claim[key])[:80]}`"
        for key, field in (("claim_type", "claim"), ("validator_id", "validator"))
        if key in claim and claim[key] != entry.get(field)
    ]
    artifact = claim.get("artifact_hash")
    if artifact is not None and artifact not in entry["hashes"]:
        faults.append(f"`artifact_hash`: expected one of what entry {seq} rests on, found `{str(artifact)[:80]}`")
    return faults


def _is_filled(value: object) -> bool:
    return isinstance(value, str) and not _PLACEHOLDER.match(value)
