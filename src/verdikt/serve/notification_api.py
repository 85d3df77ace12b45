"""What the service answers about the places where people hear of questions."""

from __future__ import annotations

from typing import Any

from verdikt.serve.api_input import NotFound, parse_id, read_body, record_event
from verdikt.serve.routes import READERS, ApiCall, ApiRoute


def list_notifiers(call: ApiCall) -> Any:
    """Return the places where the person hears of questions."""
    assert call.person is not None
    return {"notifiers": call.service.notifications.list_notifiers(call.person)}


def add_notifier(call: ApiCall) -> Any:
    """Add a place; the secret of a webhook is shown once."""
    assert call.person is not None
    added = call.service.notifications.add_notifier(call.person, read_body(call), int(call.service.clock.now()))
    record_event(call, call.organisation, call.person.name, "add_notifier", str(added["id"]))
    return added


def send_test(call: ApiCall) -> Any:
    """Send a test message, and say what came of it."""
    assert call.person is not None
    notifier = parse_id(call.path["notifier"])
    problem = call.service.notifications.send_test(call.person, notifier, int(call.service.clock.now()))
    if problem is None:
        raise NotFound("no such place")
    record_event(call, call.organisation, call.person.name, "test_notifier", str(notifier))
    return {"problem": problem}


def remove_notifier(call: ApiCall) -> Any:
    """Remove a place."""
    assert call.person is not None
    notifier = parse_id(call.path["notifier"])
    if not call.service.notifications.remove_notifier(call.person, notifier):
        raise NotFound("no such place")
    record_event(call, call.organisation, call.person.name, "remove_notifier", str(notifier))
    return {}


NOTIFICATION_ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/v1/notifiers", list_notifiers, READERS, "where you hear of questions"),
    ApiRoute("POST", "/v1/notifiers", add_notifier, READERS, "add a webhook, a chat or a mail address"),
    ApiRoute("POST", "/v1/notifiers/{notifier}/test", send_test, READERS, "send a test message"),
    ApiRoute("POST", "/v1/notifiers/{notifier}/removal", remove_notifier, READERS, "remove a place"),
)
