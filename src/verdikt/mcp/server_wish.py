"""A server's wish: what a server wants of the client (its model, its person, its directories), and the decision on it.

In the old era a wish is a request of the server; in the new one it stands among the `inputRequests` of a result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verdikt.hosts.host_decision import HostDecision
from verdikt.mcp.question import is_imitation
from verdikt.model.action import Action
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import CallGovernor

DECLARED_READS = {"effects": ["read"]}
"""The effects that the relay itself declares for requests that only read."""

POLICY_NAMES = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}
"""The methods of wishes → the name under which the policy sees them."""


def decide_wish(
    governor: CallGovernor, method: str, params: Mapping[str, Any], call_id: str = ""
) -> tuple[HostDecision, Action]:
    """Decide on one wish; `call_id` names the action again that a person was asked about."""
    name = POLICY_NAMES[method]
    # Questions to the person and the list of open directories pass unless the policy says otherwise; a prompt for the
    # model that the server words does not: it has no declared effect and is asked about.
    hints = {} if name == "sampling" else DECLARED_READS
    payload = {key: value for key, value in params.items() if key != "_meta"}
    action = governor.build_action(name, payload, hints=hints)
    action = replace(action, call_id=call_id or action.call_id)
    decision = governor.decide(action).decision
    if name == "elicitation" and is_imitation(params):
        decision = HostDecision.block("a server's question must not look like one of verdikt's")
        governor.record_event("", "refused", tool=action.tool, reason=decision.reason)
    return decision, action


def decide_wishes(
    governor: CallGovernor, requests: object, call_ids: Mapping[str, str]
) -> tuple[HostDecision, dict[str, tuple[str, Action]]]:
    """Decide on the `inputRequests` of a result.

    Return the strictest decision, and the method and action of each request that a person must be asked about, by key.
    """
    strictest = HostDecision()
    asks: dict[str, tuple[str, Action]] = {}
    for key, request in requests.items() if isinstance(requests, Mapping) else ():
        method = request.get("method") if isinstance(request, Mapping) else ""
        params = request.get("params", {}) if isinstance(request, Mapping) else {}
        if method not in POLICY_NAMES or not isinstance(params, Mapping):
            continue
        decision, action = decide_wish(governor, method, params, call_ids.get(key, ""))
        if decision.kind is VerdictKind.BLOCK:
            return decision, {}
        if decision.kind is VerdictKind.ASK:
            strictest, asks[key] = decision, (method, action)
    return strictest, asks
