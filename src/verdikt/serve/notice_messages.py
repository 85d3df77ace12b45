"""What people are told about approvals that wait: that, where and until when, and nothing that an agent wrote."""

from __future__ import annotations

import hmac
import json
import smtplib
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from verdikt.errors import ServiceError
from verdikt.serve.safe_request import TIMEOUT_SECONDS, DeliveryFailed
from verdikt.team.host_name import is_loopback

SIGNATURE_HEADER = "Verdikt-Signature"
RISK_WORDS = ("low", "low", "medium", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One approval as a message names it. What the agent wants to run is on the page, behind the sign-in."""

    approval: int
    rule: str
    risk: int
    machine: str
    expires: int
    url: str

    def to_line(self) -> str:
        """Return the notice as one line of text."""
        risk = RISK_WORDS[min(self.risk, 3)]
        return f"An agent on {_flatten(self.machine)} waits for an approval ({_flatten(self.rule)}, risk {risk})"


def build_webhook(notices: Sequence[Notice], secret: str, delivery: str, now: int) -> tuple[bytes, dict[str, str]]:
    """Return body and headers of a webhook. The signature covers time and body, so neither can be replayed later."""
    approvals = [
        {
            "approval": notice.approval,
            "rule": notice.rule,
            "risk": RISK_WORDS[min(notice.risk, 3)],
            "machine": notice.machine,
            "expires": notice.expires,
            "url": notice.url,
        }
        for notice in notices
    ]
    body = json.dumps({"event": "approval.waiting", "delivery": delivery, "approvals": approvals}).encode()
    return body, {
        "Content-Type": "application/json",
        "User-Agent": "verdikt",
        SIGNATURE_HEADER: f"t={now},v1={sign_webhook(secret, now, body)}",
    }


def sign_webhook(secret: str, time: int, body: bytes) -> str:
    """Return the HMAC-SHA256 of `time.body` in hex, which a receiver computes too."""
    return hmac.digest(secret.encode(), f"{time}.".encode() + body, "sha256").hex()


def build_chat_message(notices: Sequence[Notice]) -> tuple[bytes, dict[str, str]]:
    """Return a Slack-compatible message. It has a link, not a button: a vote is given on the page."""
    lines = [f"{_escape_chat(notice.to_line())} <{notice.url}|open>" for notice in notices]
    return json.dumps({"text": "\n".join(lines)}).encode(), {"Content-Type": "application/json"}


def build_mail(notices: Sequence[Notice], sender: str, address: str) -> EmailMessage:
    """Return a mail."""
    mail = EmailMessage()
    mail["From"], mail["To"] = sender, address
    count = len(notices)
    mail["Subject"] = "An agent waits for your approval" if count == 1 else f"{count} agents wait for your approval"
    mail.set_content("\n\n".join(f"{notice.to_line()}\n{notice.url}" for notice in notices) + "\n")
    return mail


@dataclass(frozen=True, slots=True)
class Mailer:
    """A mail server that the administrator names: `smtp://user:password@host:port`, or `smtps://` for TLS at once."""

    url: str = ""
    sender: str = ""
    tls: ssl.SSLContext | None = None
    """How its certificate is checked; by the system's authorities unless it is said."""

    @property
    def is_ready(self) -> bool:
        """Return whether mail can be sent."""
        return bool(self.url and self.sender)

    def send(self, mail: EmailMessage) -> None:
        """Send a mail; raise `DeliveryFailed` when the server does not take it."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
            raise ServiceError("expected `smtp://host:port` as mail server")
        try:
            with self._connect(parts.scheme, parts.hostname, parts.port) as server:
                if parts.username:
                    if not isinstance(server.sock, ssl.SSLSocket) and not is_loopback(parts.hostname):
                        # It may have one, and an attacker on the way left it out.
                        raise DeliveryFailed("the mail server offers no TLS: no password is sent in the clear")
                    server.login(unquote(parts.username), unquote(parts.password or ""))
                server.send_message(mail)
        except (OSError, smtplib.SMTPException) as error:
            raise DeliveryFailed(f"the mail server does not take it: {type(error).__name__}") from error

    def _connect(self, scheme: str, host: str, port: int | None) -> smtplib.SMTP:
        # The library's own context takes any certificate.
        tls = self.tls or ssl.create_default_context()
        if scheme == "smtps":
            return smtplib.SMTP_SSL(host, port or 0, timeout=TIMEOUT_SECONDS, context=tls)
        server = smtplib.SMTP(host, port or 0, timeout=TIMEOUT_SECONDS)
        try:
            server.ehlo_or_helo_if_needed()
            if server.has_extn("starttls"):
                server.starttls(context=tls)
        except BaseException:
            server.close()
            raise
        return server


def _flatten(text: str) -> str:
    """Return a text without line breaks and control characters."""
    return "".join(character if character.isprintable() else " " for character in text)[:100]


def _escape_chat(text: str) -> str:
    # Else a machine's name could call everybody of a channel.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
