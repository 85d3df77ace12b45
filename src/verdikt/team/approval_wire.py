"""Approvals between machine and service: the request, the votes that settle it, and the signed grant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verdikt.errors import CanonicalError, PolicyError, WireError
from verdikt.model.action import extract_subject
from verdikt.model.approval import DOCUMENT_VERSION, MAX_EXPIRES_SECONDS, PART_NAMES, ApprovalNeed, parse_need
from verdikt.model.canonical_json import encode_canonical, hash_canonical, sha256_hex
from verdikt.team.key_assertion import find_signer

MAX_DOCUMENT_BYTES = 256 << 10
MAX_NEEDS = 10
MAX_TEXTS_BYTES = 64 << 10
MAX_SUMMARY_CHARS = 300
_PART_TYPES = {"machine": dict, "session": str, "action": dict, "effects": list, "policy": dict, "pinned": dict}
_MAX_TIME = 2**40
_MAX_CALLS = 2**31 - 1

# Domain separation: no other signature of the service is one of a grant.
_DOMAIN = b"verdikt approval grant v1\n"
_VOTE_DOMAIN = b"verdikt approval vote v1\n"

RISKS: dict[str, int] = {"destructive": 3, "network": 2, "spawn": 2, "execute": 2, "write": 1, "read": 0}
"""Class of the strongest effect → how urgent the request is: 3 is high, 2 medium, 1 and 0 low."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """An approval request as a machine sends it. `document` has the digest `digest`; people decide by what is in it."""

    id: str
    digest: str
    document: dict[str, Any]
    texts: dict[str, str]
    """Path → text of a file that the call rests on, where its digest is in the document."""
    seq: int
    rule: str
    reason: str
    risk: int
    asked: int
    expires: int
    calls: int = 1
    """How often the call was made while it waited."""

    @property
    def session(self) -> str:
        """The session that asks."""
        return str(self.document["session"])

    @property
    def needs(self) -> tuple[ApprovalNeed, ...]:
        """Who has to approve."""
        return parse_needs(self.document)

    @property
    def summary(self) -> str:
        """What would run, in one line."""
        return summarize_action(self.document["action"])


def parse_needs(document: Mapping[str, Any]) -> tuple[ApprovalNeed, ...]:
    """Return who has to approve a document."""
    try:
        return tuple(parse_need(record) for record in document["needs"])
    except (PolicyError, TypeError, AttributeError) as error:
        raise WireError("expected the approvals that are needed") from error


def summarize_action(action: Mapping[str, Any]) -> str:
    """Return what a call would run, in one line."""
    payload = action.get("payload")
    subject = extract_subject(payload) or payload
    return f"{action.get('tool')} {' '.join(str(subject).split())}"[:MAX_SUMMARY_CHARS].replace("\0", "␀")


def read_statement(action: Mapping[str, Any]) -> str:
    """Return what the agent itself says about a call; empty when it says nothing."""
    payload = action.get("payload")
    statement = payload.get("description") if isinstance(payload, Mapping) else None
    return statement if isinstance(statement, str) else ""


def build_request_fields(request: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a request as it is sent: with the texts of files, as far as there is room for them."""
    sent, room = {}, MAX_TEXTS_BYTES
    for path, text in sorted(texts.items()):
        room -= len(text.encode("utf-8", "backslashreplace"))
        if room >= 0:
            sent[path] = text
    return {**request, "texts": sent}


def parse_request(fields: Any) -> ApprovalRequest:
    """Return the request of a machine; raise `WireError` unless every part of it is as it should be."""
    if not isinstance(fields, Mapping):
        raise WireError("expected an approval as a JSON object")
    types = {"id": str, "digest": str, "document": dict, "texts": dict, "seq": int, "rule": str, "reason": str}
    types |= {"dominant": str, "asked": int, "expires": int}
    for name, expected in types.items():
        if type(fields.get(name)) is not expected:
            raise WireError(f"expected `{name}` of the approval")
    id, document = fields["id"], fields["document"]
    if not (4 <= len(id) <= 64 and id.isalnum() and id.isascii()):
        raise WireError("expected an id of letters and digits")
    if not (0 < fields["asked"] < fields["expires"] < _MAX_TIME) or not 0 < fields["seq"] < 2**53:
        raise WireError("expected times and a number")
    if fields["expires"] - fields["asked"] > MAX_EXPIRES_SECONDS:
        raise WireError(f"expected an approval that waits for {MAX_EXPIRES_SECONDS // 3600} hours at most")
    calls = fields.get("calls", 1)
    if type(calls) is not int or not 0 < calls <= _MAX_CALLS:
        raise WireError("expected how often the call was made")
    _check_document(document, fields["digest"])
    return ApprovalRequest(
        id=id,
        digest=fields["digest"],
        document=document,
        texts=_check_texts(fields["texts"], document),
        seq=fields["seq"],
        rule=fields["rule"][:100].replace("\0", "␀"),
        reason=fields["reason"][:2000].replace("\0", "␀"),
        risk=RISKS.get(fields["dominant"], 0),
        asked=fields["asked"],
        expires=fields["expires"],
        calls=calls,
    )


def _check_document(document: dict[str, Any], digest: str) -> None:
    """Raise `WireError` unless a document has its digest: what people see is what they approve."""
    if document.keys() != {"v", *PART_NAMES} or document["v"] != DOCUMENT_VERSION:
        raise WireError("expected a document of this version: upgrade the older of machine and service")
    try:
        data = encode_canonical(document)
    except CanonicalError as error:
        raise WireError("expected a document with a canonical form") from error
    if len(data) > MAX_DOCUMENT_BYTES:
        raise WireError(f"expected a document of at most {MAX_DOCUMENT_BYTES} bytes")
    if sha256_hex(data) != digest:
        raise WireError("the document does not have the digest that the machine names")
    for name, expected in _PART_TYPES.items():
        if not isinstance(document[name], expected):
            raise WireError(f"expected `{name}` of the approval's document")
    if not all(isinstance(effect, dict) for effect in document["effects"]):
        raise WireError("expected effects as JSON objects")
    if not 0 < len(parse_needs(document)) <= MAX_NEEDS:
        raise WireError("expected the approvals that are needed")


def _check_texts(texts: Mapping[Any, Any], document: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts whose digests are in the document; any other is not part of what is approved."""
    pinned = document["pinned"].get("texts", {})
    if not isinstance(pinned, dict):
        raise WireError("expected the digests of pinned texts")
    return {
        path: text
        for path, text in texts.items()
        if isinstance(path, str)
        and isinstance(text, str)
        and pinned.get(path) == sha256_hex(text.encode("utf-8", "backslashreplace"))
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One person's yes or no, and by which right it counts."""

    person: int
    name: str
    approved: bool
    is_owner: bool | None
    """Whether this is the person of the machine that asks; None when the machine has no known person."""
    groups: frozenset[str]
    is_strong: bool
    key: str = ""
    """Name of the security key that signed it."""

    def has_signature_for(self, need: ApprovalNeed) -> bool:
        """Return whether the vote is signed as a need asks for it."""
        return not need.strong or (self.is_strong and (not need.keys or self.key in need.keys))


def find_vote_problem(need: ApprovalNeed, vote: Vote) -> str:
    """Return why a vote does not count for a need; empty when it does."""
    if not need.group:
        return "" if vote.is_owner else "only the person of the machine can answer this"
    if need.separate and vote.is_owner is None:
        return "this machine has no person at this service, so it cannot be told that another one answers"
    if need.separate and vote.is_owner:
        return "a person other than the one whose agent asks has to answer this"
    return "" if need.group in vote.groups else f"only members of `{need.group}` can answer this"


def is_satisfied(need: ApprovalNeed, votes: Iterable[Vote]) -> bool:
    """Return whether enough people have said yes to a need."""
    counted = {
        vote.person
        for vote in votes
        if vote.approved and not find_vote_problem(need, vote) and vote.has_signature_for(need)
    }
    return len(counted) >= need.count


def build_grant(
    *, request: str, digest: str, machine: int, approved: bool, votes: Sequence[Mapping[str, Any]], not_after: int
) -> dict[str, Any]:
    """Return what the service signs when a request is settled; times are seconds of the service's clock."""
    return {
        "v": 1,
        "approval": request,
        "digest": digest,
        "machine": machine,
        "approved": approved,
        "votes": [dict(vote) for vote in votes],
        "not_after": not_after,
    }


def encode_grant(grant: Mapping[str, Any]) -> bytes:
    """Return the bytes of a grant that are signed."""
    return _DOMAIN + encode_canonical(grant)


def encode_vote(approval: int, person: int, digest: str, *, approved: bool) -> bytes:
    """Return the bytes that the service signs in its own record for each vote that counted."""
    return _VOTE_DOMAIN + encode_canonical(
        {"approval": approval, "person": person, "digest": digest, "approved": approved}
    )


def build_challenge(request: str, digest: str) -> bytes:
    """Return what a security key signs: this digest, in answer to this request.

    Not the digest alone: the same call, asked about again, has the same one, and a signature can be written in more
    ways than one, so a list of those that were used would not show that one comes again.
    """
    return bytes.fromhex(hash_canonical(["verdikt approval key v1", request, digest]))


def find_grant_problem(grant: Any, *, request: str, digest: str, machine: int, needs: Sequence[ApprovalNeed]) -> str:
    """Return why a grant is not the answer to a machine's own request; empty when it is."""
    if not isinstance(grant, Mapping) or grant.get("v") != 1 or not isinstance(grant.get("votes"), list):
        return "expected a grant"
    if grant.get("approval") != request or grant.get("digest") != digest:
        return "the grant is for another call"
    if grant.get("machine") != machine:
        return "the grant is for another machine"
    if type(grant.get("not_after")) is not int or type(grant.get("approved")) is not bool:
        return "expected a time and an answer in the grant"
    votes = [vote for vote in grant["votes"] if isinstance(vote, Mapping) and vote.get("approved") is True]
    if grant["approved"] and any(_count_people(votes, need, request, digest) < need.count for need in needs):
        return "the grant has fewer votes than the policy asks for"
    return ""


def _count_people(votes: Iterable[Mapping[str, Any]], need: ApprovalNeed, request: str, digest: str) -> int:
    """Return how many people said yes to a need as far as a machine can see: groups are the service's to know."""
    challenge = build_challenge(request, digest)
    people, signers = set(), set()
    for vote in votes:
        if type(vote.get("person")) is not int:
            continue
        signer = find_signer(vote.get("assertion"), challenge) if need.strong else ""
        if not need.strong or (signer and (not need.keys or signer in need.keys)):
            people.add(vote["person"])
            signers.add(signer)
    # Who a signature belongs to is only the service's word: one that comes under two names is one person's.
    return min(len(people), len(signers)) if need.strong else len(people)
