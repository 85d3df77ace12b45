"""Who is told of an approval request, where and when: each person who can answer it, once."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from verdikt.errors import ServiceError, WireError
from verdikt.model.approval import ApprovalState
from verdikt.serve import schema
from verdikt.serve.notice_messages import Mailer, Notice, build_chat_message, build_mail, build_webhook
from verdikt.serve.notice_plan import NoticePlan
from verdikt.serve.safe_request import DeliveryFailed, SafeSender

if TYPE_CHECKING:
    from sqlalchemy import Connection, RowMapping

    from verdikt.serve.database import Database
    from verdikt.serve.people import Person

_LOGGER = logging.getLogger("verdikt.serve")

KINDS = ("webhook", "slack", "email")
MODES = ("each", "digest")
MAX_NOTIFIERS = 50
MAX_ADDRESS_CHARS = 500
MAX_TRIES = 6
LEASE_SECONDS = 60
RETRY_SECONDS = 30
BATCH = 100
_MAIL_ADDRESS = re.compile(r"[^@\s<>,;:\"()\[\]\\]{1,64}@[A-Za-z0-9.-]{1,190}")


@dataclass(frozen=True, slots=True)
class NotificationSettings:
    """What the administrator decides: which addresses that are not public may be told, and the mail server."""

    sender: SafeSender = field(default_factory=SafeSender)
    mailer: Mailer = field(default_factory=Mailer)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> NotificationSettings:
        """Return the settings of VERDIKT_NOTIFY_ALLOW, VERDIKT_SMTP and VERDIKT_MAIL_FROM."""
        allowed = frozenset(filter(None, (part.strip() for part in env.get("VERDIKT_NOTIFY_ALLOW", "").split(","))))
        return cls(SafeSender(allowed), Mailer(env.get("VERDIKT_SMTP", ""), env.get("VERDIKT_MAIL_FROM", "")))


class Notifications:
    """The places where people hear of approval requests, and what was sent to them; safe for threads."""

    def __init__(self, database: Database, url: str, settings: NotificationSettings) -> None:
        self._database = database
        self._url = url
        self._settings = settings
        self._plan = NoticePlan(database)

    def add_notifier(self, person: Person, fields: Mapping[str, Any], now: int) -> dict[str, Any]:
        """Add a place, for oneself or for a group; return its number, and the secret of a webhook, shown once."""
        kind, address, mode = (str(fields.get(name, "")) for name in ("kind", "address", "mode"))
        group = str(fields.get("group", ""))[:100]
        if kind not in KINDS or (mode or "each") not in MODES or len(address) > MAX_ADDRESS_CHARS:
            raise WireError(f"expected one of {', '.join(KINDS)}, an address, and one of {', '.join(MODES)}")
        if group and "admin" not in person.roles:
            raise WireError("only an admin can tell a whole group")
        if kind == "email":
            if not _MAIL_ADDRESS.fullmatch(address):
                raise WireError("expected a mail address")
            if not self._settings.mailer.is_ready:
                raise WireError("this service has no mail server: set VERDIKT_SMTP and VERDIKT_MAIL_FROM")
        else:
            # Now, for the person who enters it, and again each time something is sent.
            try:
                self._settings.sender.check_url(address)
            except DeliveryFailed as error:
                raise WireError(str(error)) from error
        secret = f"vdw_{secrets.token_urlsafe(32)}" if kind == "webhook" else ""
        table = schema.notifier
        with self._database.begin_write() as connection:
            if len(_read_notifiers(connection, person)) >= MAX_NOTIFIERS:
                raise WireError(f"expected at most {MAX_NOTIFIERS} places")
            values = {
                "organisation": person.organisation,
                "person": None if group else person.id,
                "group": group,
                "kind": kind,
                "address": address,
                "secret": secret,
                "mode": mode or "each",
                "created": now,
            }
            id = connection.execute(insert(table).values(**values).returning(table.c.id)).scalar_one()
        return {"id": int(id), "secret": secret}

    def list_notifiers(self, person: Person) -> list[dict[str, Any]]:
        """Return a person's own places, and for an admin those of groups; without their secrets."""
        with self._database.begin_read_of(person.organisation) as connection:
            rows = _read_notifiers(connection, person)
            names = ("id", "kind", "group", "mode", "address")
            return [{name: row[name] for name in names} | _read_last_delivery(connection, row["id"]) for row in rows]

    def remove_notifier(self, person: Person, notifier: int) -> bool:
        """Remove a place; return whether the person had such a one."""
        table = schema.notifier
        with self._database.begin_write() as connection:
            if notifier not in {row["id"] for row in _read_notifiers(connection, person)}:
                return False
            connection.execute(delete(schema.delivery).where(schema.delivery.c.notifier == notifier))
            connection.execute(delete(table).where(table.c.id == notifier))
            return True

    def send_test(self, person: Person, notifier: int, now: int) -> str | None:
        """Send a message that says that it is a test; return what went wrong. None when there is no such place."""
        with self._database.begin_read() as connection:
            row = next((row for row in _read_notifiers(connection, person) if row["id"] == notifier), None)
        if row is None:
            return None
        url = f"{self._url}/approvals"
        notice = Notice(approval=0, rule="test", risk=0, machine="this service", expires=now, url=url)
        try:
            self._send_notices(row, [notice], f"test-{secrets.token_hex(8)}", now)
        except ServiceError as error:
            return str(error)
        return ""

    # The work of a worker

    def send_due(self, now: int) -> int:
        """Tell people of what waits; return how many messages were sent."""
        self._plan.add_missing(now)
        sent = 0
        while claimed := self._claim_deliveries(now):
            sent += self._send_claimed(claimed, now)
        return sent

    def _claim_deliveries(self, now: int) -> list[RowMapping]:
        """Take the messages to one place that are due; another worker does not get them for a while."""
        deliveries = schema.delivery
        is_due = (deliveries.c.state == "due") & (deliveries.c.due <= now)
        with self._database.begin_write() as connection:
            first = connection.execute(
                select(deliveries.c.notifier)
                .where(is_due)
                .order_by(deliveries.c.due)
                .limit(1)
                .with_for_update(skip_locked=True)
            ).scalar()
            if first is None:
                return []
            claimed = (
                connection.execute(
                    select(deliveries)
                    .where(is_due, deliveries.c.notifier == first)
                    .limit(BATCH)
                    .with_for_update(skip_locked=True)
                )
                .mappings()
                .all()
            )
            ids = [row["id"] for row in claimed]
            # A worker that is killed while it sends leaves them due after the lease.
            connection.execute(update(deliveries).where(deliveries.c.id.in_(ids)).values(due=now + LEASE_SECONDS))
            return list(claimed)

    def _send_claimed(self, claimed: Sequence[RowMapping], now: int) -> int:
        """Send one message about all of them, and note what became of it; return how many were sent."""
        with self._database.begin_read() as connection:
            notifier = (
                connection.execute(select(schema.notifier).where(schema.notifier.c.id == claimed[0]["notifier"]))
                .mappings()
                .one_or_none()
            )
            notices = _read_notices(connection, [row["approval"] for row in claimed], self._url, now)
        ids = [row["id"] for row in claimed]
        if notifier is None or not notices:
            # Answered before a message was sent.
            self._record_result(ids, "skipped", "", 0, now)
            return 0
        try:
            self._send_notices(notifier, notices, f"{notifier['id']}-{ids[0]}", now)
        except Exception as error:
            # Whatever is wrong with one place, the others are told.
            if not isinstance(error, ServiceError):
                _LOGGER.exception("telling %s failed", notifier["id"])
            tries = max(row["tries"] for row in claimed) + 1
            state = "failed" if tries >= MAX_TRIES else "due"
            self._record_result(ids, state, str(error)[:300], tries, now + RETRY_SECONDS * 2**tries)
            return 0
        self._record_result(ids, "sent", "", 0, now)
        return 1

    def _record_result(self, ids: Sequence[int], state: str, problem: str, tries: int, due: int) -> None:
        table = schema.delivery
        with self._database.begin_write() as connection:
            connection.execute(
                update(table).where(table.c.id.in_(ids)).values(state=state, problem=problem, tries=tries, due=due)
            )

    def _send_notices(self, notifier: RowMapping, notices: Sequence[Notice], delivery: str, now: int) -> None:
        if notifier["kind"] == "email":
            mail = build_mail(notices, self._settings.mailer.sender, notifier["address"])
            self._settings.mailer.send(mail)
            return
        if notifier["kind"] == "slack":
            body, headers = build_chat_message(notices)
        else:
            body, headers = build_webhook(notices, notifier["secret"], delivery, now)
        self._settings.sender.post(notifier["address"], body, headers)


def _read_notifiers(connection: Connection, person: Person) -> list[RowMapping]:
    table = schema.notifier
    is_visible = table.c.person == person.id
    if "admin" in person.roles:
        is_visible |= table.c.person.is_(None)
    query = select(table).where(table.c.organisation == person.organisation, is_visible).order_by(table.c.id)
    return list(connection.execute(query).mappings())


def _read_last_delivery(connection: Connection, notifier: int) -> dict[str, Any]:
    """Return what became of the last message to a place."""
    table = schema.delivery
    row = connection.execute(
        select(table.c.state, table.c.problem).where(table.c.notifier == notifier).order_by(table.c.id.desc()).limit(1)
    ).one_or_none()
    return {"state": row.state if row else "", "problem": row.problem if row else ""}


def _read_notices(connection: Connection, ids: Sequence[int], url: str, now: int) -> list[Notice]:
    """Return what is still waiting of these requests, the most urgent first."""
    table, machines = schema.approval, schema.machine
    query = (
        select(table.c.id, table.c.rule, table.c.risk, table.c.expires, machines.c.name)
        .join(machines, machines.c.id == table.c.machine)
        .where(table.c.id.in_(ids), table.c.state == ApprovalState.WAITING, table.c.expires > now)
        .order_by(table.c.risk.desc(), table.c.asked)
    )
    return [
        Notice(
            approval=row.id,
            rule=row.rule,
            risk=row.risk,
            machine=row.name,
            expires=row.expires,
            url=f"{url}/approvals?id={row.id}",
        )
        for row in connection.execute(query)
    ]
