"""An approval request as a machine sends it, made without one."""

from verdikt.model.approval import DOCUMENT_VERSION, ApprovalNeed
from verdikt.model.canonical_json import hash_canonical
from verdikt.team.approval_wire import ApprovalRequest

SECONDS = 3600


def build_request(number: int, machine: int, group: str = "web") -> ApprovalRequest:
    """Return the request of a machine that waits an hour for a member of a group; each number is another call."""
    document = {
        "v": DOCUMENT_VERSION,
        "machine": {"service": "", "id": machine},
        "session": "s",
        "action": {"tool": "Bash", "payload": {"command": f"./deploy.sh {number}"}},
        "effects": [],
        "policy": {},
        "needs": [ApprovalNeed(group=group).to_record()],
        "pinned": {},
    }
    return ApprovalRequest(
        id=f"request{number}",
        digest=hash_canonical(document),
        document=document,
        texts={},
        seq=1,
        rule="deploy",
        reason="deploys",
        risk=3,
        asked=1,
        expires=1 + SECONDS,
    )
