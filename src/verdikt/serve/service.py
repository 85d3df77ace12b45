"""What a running service consists of: store, people, clock, and how it is reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verdikt.observe.clock import SystemClock
from verdikt.serve.approvals import Approvals
from verdikt.serve.devices import Devices
from verdikt.serve.feed_reads import FeedReads
from verdikt.serve.machines import Machines
from verdikt.serve.metrics import Metrics
from verdikt.serve.notifications import Notifications, NotificationSettings
from verdikt.serve.people import People
from verdikt.serve.security_keys import SecurityKeys
from verdikt.serve.service_key import ServiceKey
from verdikt.serve.session_reads import SessionReads
from verdikt.serve.tokens import Tokens

if TYPE_CHECKING:
    from verdikt.observe.clock import Clock
    from verdikt.serve.oidc import OidcSignIn
    from verdikt.serve.store import TeamStore


@dataclass
class Service:
    """One replica. All state is in the store, except counters for `/metrics`."""

    store: TeamStore
    origins: frozenset[str]
    """The origins under which browsers reach the service (`http://127.0.0.1:8787`); requests for others are refused."""
    clock: Clock = field(default_factory=SystemClock)
    metrics: Metrics = field(default_factory=Metrics)
    people: People = field(init=False)
    machines: Machines = field(init=False)
    devices: Devices = field(init=False)
    tokens: Tokens = field(init=False)
    settings: NotificationSettings = field(default_factory=NotificationSettings)
    security_keys: SecurityKeys = field(init=False)
    service_key: ServiceKey = field(init=False)
    approvals: Approvals = field(init=False)
    notifications: Notifications = field(init=False)
    session_reads: SessionReads = field(default_factory=SessionReads)
    feed_reads: FeedReads = field(default_factory=FeedReads)
    oidc: OidcSignIn | None = None
    problems: dict[str, str] = field(default_factory=dict)
    """Session → why its log could not be imported; of the embedded form."""
    replay_line: Callable[[bytes], dict[str, Any]] | None = None
    """Replays the decision of a line; of the embedded form, because policies stay on their machines."""

    def __post_init__(self) -> None:
        self.people = People(self.store.database)
        self.machines = Machines(self.store.database)
        self.devices = Devices(self.store.database)
        self.tokens = Tokens(self.store.database)
        self.security_keys = SecurityKeys(self.store.database)
        self.service_key = ServiceKey(self.store.database)
        self.approvals = Approvals(self.store.database, self.security_keys, self.service_key)
        self.notifications = Notifications(self.store.database, min(self.origins), self.settings)

    @property
    def hosts(self) -> frozenset[str]:
        """The values of the `Host` header that the service answers to: another one is a rebound name."""
        return frozenset(origin.split("://", 1)[1] for origin in self.origins)

    @property
    def is_secure(self) -> bool:
        """Return whether browsers reach the service by TLS."""
        return all(origin.startswith("https://") for origin in self.origins)

    @property
    def cookie_name(self) -> str:
        """The name of the login's cookie; with the prefix, browsers bind it to this host and to TLS."""
        return "__Host-verdikt" if self.is_secure else "verdikt_login"

    @property
    def flow_cookie_name(self) -> str:
        """The name of the cookie that binds a sign-in at the identity provider to the browser that began it."""
        return "__Host-verdikt-flow" if self.is_secure else "verdikt_flow"

    @property
    def is_local(self) -> bool:
        """Return whether it shows one machine's own log to its person: other people and machines cannot come in."""
        return self.replay_line is not None

    def now_microseconds(self) -> int:
        """Return the time as stores have it."""
        return int(self.clock.now() * 1_000_000)
