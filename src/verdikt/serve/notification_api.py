"""What the service answers about the places where people hear of approvals."""

from __future__ import annotations

from typing import Any

from verdikt.serve.routes import READERS, ApiCall, ApiRoute, NotFound


def list_notifiers(call: ApiCall) -> Any:
    """Return the places where the person hears of approvals."""
    return {"notifiers": call.service.notifications.list_notifiers(call.signed_in)}


def add_notifier(call: ApiCall) -> Any:
    """Add a place; the secret of a webhook is shown once."""
    added = call.service.notifications.add_notifier(call.signed_in, call.read_body(), int(call.now))
    call.record("add_notifier", str(added["id"]))
    return added


def send_test(call: ApiCall) -> Any:
    """Send a test message, and say what came of it."""
    notifier = call.read_id("notifier")
    problem = call.service.notifications.send_test(call.signed_in, notifier, int(call.now))
    if problem is None:
        raise NotFound("no such place")
    call.record("test_notifier", str(notifier))
    return {"problem": problem}


def remove_notifier(call: ApiCall) -> Any:
    """Remove a place."""
    notifier = call.read_id("notifier")
    if not call.service.notifications.remove_notifier(call.signed_in, notifier):
        raise NotFound("no such place")
    call.record("remove_notifier", str(notifier))
    return {}


NOTIFICATION_ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/v1/notifiers", list_notifiers, READERS, "where you hear of approvals", scope=""),
    ApiRoute("POST", "/v1/notifiers", add_notifier, READERS, "add a webhook, a chat or a mail address"),
    ApiRoute("POST", "/v1/notifiers/{notifier}/test", send_test, READERS, "send a test message"),
    ApiRoute("POST", "/v1/notifiers/{notifier}/removal", remove_notifier, READERS, "remove a place"),
)
