"""A server's wish: what a server wants of the client (its model, its person, its directories), and the decision on it.

In the old era a wish is a request of the server; in the new one it stands among the `inputRequests` of a result, or of
a notification about a task. The pages that an error sends a person to (`elicitations`) are wishes too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verdikt.hosts.host_decision import HostDecision
from verdikt.mcp.message import MessageError, refuse_lookalike_keys, refuse_lookalike_method
from verdikt.mcp.question import is_imitation
from verdikt.model.action import Action
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import CallGovernor

DECLARED_READS = {"effects": ["read"]}
"""The effects that the relay itself declares for requests that only read."""

POLICY_NAMES = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}
"""The methods of wishes → the name under which the policy sees them."""

WISH_METHODS = frozenset(POLICY_NAMES)

MAX_WISHES = 32
"""What one message of a server may want; each wish is decided and recorded by itself."""

_WISH_FIELDS = frozenset({"method", "params"})
_ERROR_FIELDS = frozenset({"code", "message", "data"})
_PAGES = "elicitations"


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
    A request that a client could read in another way than we do is a block.
    """
    strictest = HostDecision()
    asks: dict[str, tuple[str, Action]] = {}
    try:
        wishes = _read_wishes(requests)
    except MessageError as error:
        governor.record_event("", "refused", reason=str(error))
        return HostDecision.block(f"the server wants something that cannot be decided on: {error}"), {}
    for key, (method, params) in wishes.items():
        if method not in POLICY_NAMES:
            continue
        decision, action = decide_wish(governor, method, params, call_ids.get(key, ""))
        if decision.kind is VerdictKind.BLOCK:
            return decision, {}
        if decision.kind is VerdictKind.ASK:
            strictest, asks[key] = decision, (method, action)
    return strictest, asks


def _read_wishes(requests: object) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return method and parameters of each wish by its key; raise `MessageError` for what can be read in two ways."""
    if requests is None:
        return {}
    if not isinstance(requests, Mapping):
        raise MessageError("expected an object of requests, found something else")
    if len(requests) > MAX_WISHES:
        raise MessageError(f"expected at most {MAX_WISHES} requests at once, found more")
    wishes: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for key, request in requests.items():
        if not isinstance(request, Mapping):
            raise MessageError("expected a request as an object, found something else")
        refuse_lookalike_keys(request, _WISH_FIELDS, None)
        method, params = request.get("method"), request.get("params", {})
        if not isinstance(method, str) or not isinstance(params, Mapping):
            raise MessageError("expected a method as text and an object of parameters, found something else")
        refuse_lookalike_method(method, WISH_METHODS, None)
        wishes[key] = method, params
    return wishes


def read_error_wishes(error: object) -> object:
    """Return the questions that an error carries, as `decide_wishes` takes them; None when it carries none."""
    if not isinstance(error, Mapping):
        return None
    refuse_lookalike_keys(error, _ERROR_FIELDS, None)
    data = error.get("data")
    if not isinstance(data, Mapping):
        return None
    refuse_lookalike_keys(data, frozenset({_PAGES}), None)
    pages = data.get(_PAGES, [])
    if not isinstance(pages, list):
        raise MessageError(f"expected a list of `{_PAGES}`, found something else")
    return {str(number): {"method": "elicitation/create", "params": page} for number, page in enumerate(pages)}
