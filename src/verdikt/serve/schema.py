"""The tables of the service, the same in SQLite and PostgreSQL. `migrations/` creates and changes them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

# SQLite counts rows by itself only in a column that is exactly INTEGER PRIMARY KEY.
_Serial = BigInteger().with_variant(Integer, "sqlite")

organisation = Table(
    "organisation",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created", BigInteger, nullable=False),
)

machine = Table(
    "machine",
    metadata,
    Column("id", _Serial, primary_key=True),
    Column("organisation", Integer, ForeignKey("organisation.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("public_key", LargeBinary, nullable=False),
    Column("enrolled", BigInteger, nullable=False),
    Column("revoked", BigInteger),
    Column("seen", BigInteger),
    Column("version", Text, nullable=False, server_default=""),
    # Whose machine it is, and of which team: who may look at what it sent.
    Column("person", BigInteger, ForeignKey("person.id")),
    Column("team", Text, nullable=False, server_default=""),
    # What the machine itself says of its state, as JSON.
    Column("status", Text, nullable=False, server_default="{}"),
    UniqueConstraint("organisation", "name"),
)

chain = Table(
    "chain",
    metadata,
    Column("id", _Serial, primary_key=True),
    Column("organisation", Integer, ForeignKey("organisation.id"), nullable=False),
    Column("machine", BigInteger, ForeignKey("machine.id"), nullable=False),
    Column("session", Text, nullable=False),
    # A session whose machine contradicted what it had sent before goes on as another chain, from its first entry.
    Column("generation", Integer, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("signed_seq", BigInteger, nullable=False),
    Column("first_ts", BigInteger, nullable=False),
    Column("last_ts", BigInteger, nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("host", Text, nullable=False),
    Column("directory", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("decisions", Integer, nullable=False),
    Column("asks", Integer, nullable=False),
    Column("blocks", Integer, nullable=False),
    Column("claims", Integer, nullable=False),
    Column("proofs", Integer, nullable=False),
    Column("forked", Boolean, nullable=False),
    UniqueConstraint("machine", "session", "generation"),
    Index("chain_by_time", "organisation", "last_ts", "id"),
)
"""One hash chain; `seq` and `hash` are its head, which is locked, compared and advanced when lines are stored."""

word = Table(
    "word",
    metadata,
    Column("id", _Serial, primary_key=True),
    Column("text", Text, nullable=False, unique=True),
)
"""Guards, tools, effects and hosts: an entry has their numbers."""

entry = Table(
    "entry",
    metadata,
    Column("n", _Serial, primary_key=True),
    Column("organisation", Integer, nullable=False),
    Column("chain", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("ts", BigInteger, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("verdict", SmallInteger),
    Column("guard", Integer, nullable=False),
    Column("class", SmallInteger, nullable=False),
    Column("tool", Integer, nullable=False),
    Column("effect", Integer, nullable=False),
    Column("host", Integer, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("summary", Text, nullable=False),
    Column("shape", LargeBinary, nullable=False),
    # When it arrived, in days since 1970: PostgreSQL keeps it in the partition of its month.
    Column("day", Integer, nullable=False, server_default="0"),
    Index("entry_by_chain", "chain", "seq", unique=True),
    Index("entry_by_time", "organisation", "ts", "n"),
    sqlite_autoincrement=True,
)
"""What is searched and listed of each entry. In PostgreSQL it also has `xid`, by which the feed skips nothing."""

searched_entry = Table(
    "searched_entry",
    # Not one of the tables: migrations make it in PostgreSQL alone.
    MetaData(),
    *(Column(column.name, column.type) for column in entry.columns),
    Column("session", Text),
    Column("machine", BigInteger),
)
"""In PostgreSQL, the entries that a person sees, for a search by text: a view that can use an index of texts."""

segment = Table(
    "segment",
    metadata,
    Column("chain", BigInteger, primary_key=True),
    Column("first", BigInteger, primary_key=True),
    Column("last", BigInteger, nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
"""The lines themselves, as they were sent: zstd over consecutive lines of one chain."""

fork = Table(
    "fork",
    metadata,
    Column("chain", BigInteger, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("hash", LargeBinary, primary_key=True),
    Column("received", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
"""Evidence: lines that contradict what the same machine had sent before."""

tally = Table(
    "tally",
    metadata,
    Column("organisation", Integer, primary_key=True),
    Column("hour", Integer, primary_key=True),
    Column("verdict", SmallInteger, primary_key=True),
    Column("guard", Integer, primary_key=True),
    # Replicas add to rows of their own, so none waits for another.
    Column("shard", SmallInteger, primary_key=True),
    Column("count", BigInteger, nullable=False),
)

person = Table(
    "person",
    metadata,
    Column("id", _Serial, primary_key=True),
    Column("organisation", Integer, ForeignKey("organisation.id"), nullable=False),
    Column("subject", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("roles", Text, nullable=False),
    Column("disabled", Boolean, nullable=False),
    Column("email", Text, nullable=False, server_default=""),
    # One per line: what the identity provider says that the person belongs to. Teams and approvers are named by them.
    Column("groups", Text, nullable=False, server_default=""),
    Column("seen", BigInteger),
    UniqueConstraint("organisation", "subject"),
)

login = Table(
    "login",
    metadata,
    Column("secret_sha256", Text, primary_key=True),
    Column("person", BigInteger, ForeignKey("person.id"), nullable=False),
    # A link that is exchanged once for a cookie, or the cookie itself.
    Column("is_link", Boolean, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
)

sign_in_flow = Table(
    "sign_in_flow",
    metadata,
    Column("state_sha256", Text, primary_key=True),
    Column("nonce", Text, nullable=False),
    Column("verifier", Text, nullable=False),
    Column("expires", BigInteger, nullable=False),
)
"""A person who was sent to the identity provider and has not come back yet. Used once, by deleting it."""

token = Table(
    "token",
    metadata,
    Column("id", _Serial, primary_key=True),
    Column("organisation", Integer, ForeignKey("organisation.id"), nullable=False),
    Column("person", BigInteger, ForeignKey("person.id"), nullable=False),
    Column("kid", Text, nullable=False, unique=True),
    Column("secret_sha256", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("used", BigInteger),
    Column("revoked", BigInteger),
)
"""Keys of programs, `vdk_KID_SECRET`: each acts for a person, within its scopes, and can neither vote nor sign."""

enrolment = Table(
    "enrolment",
    metadata,
    Column("code_sha256", Text, primary_key=True),
    Column("organisation", Integer, ForeignKey("organisation.id"), nullable=False),
    Column("uses_left", Integer, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("team", Text, nullable=False, server_default=""),
)
"""Codes for fleets: each lets a number of machines enrol for a while."""

device_code = Table(
    "device_code",
    metadata,
    # What the machine asks with; the short code is what it shows to its person.
    Column("secret_sha256", Text, primary_key=True),
    Column("code", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("public_key", LargeBinary, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("machine", BigInteger, ForeignKey("machine.id")),
)
"""Machines that wait until a signed-in person says that they are theirs."""

job = Table(
    "job",
    metadata,
    Column("id", _Serial, primary_key=True),
    Column("organisation", Integer, ForeignKey("organisation.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("run_at", BigInteger, nullable=False),
    Column("tries", Integer, nullable=False, server_default="0"),
    # Until when a worker has it: after that time it is taken to have died.
    Column("locked_until", BigInteger, nullable=False, server_default="0"),
    Column("problem", Text, nullable=False, server_default=""),
    Index("job_by_time", "run_at"),
)
"""Work that no request waits for. A job that succeeded is deleted; one that failed too often stays, with the reason."""

audit_event = Table(
    "audit_event",
    metadata,
    Column("n", _Serial, primary_key=True),
    Column("organisation", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("prev", Text, nullable=False),
    Column("hash", Text, nullable=False),
)
"""What people and machines did to this service: chained, so that a removed row shows."""

approval = Table(
    "approval",
    metadata,
    Column("id", _Serial, primary_key=True),
    Column("organisation", Integer, ForeignKey("organisation.id"), nullable=False),
    Column("machine", BigInteger, ForeignKey("machine.id"), nullable=False),
    # What the machine calls it.
    Column("request", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("texts", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("shape", Text, nullable=False),
    # One per line, with a line break before and after each: who has to answer, to find those that wait "for you".
    Column("groups", Text, nullable=False),
    Column("risk", SmallInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("asked", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("decided", BigInteger),
    Column("not_after", BigInteger),
    Column("closed", BigInteger),
    # How often the agent made the call while it waited.
    Column("calls", Integer, nullable=False, server_default="1"),
    UniqueConstraint("machine", "request"),
    Index("approval_by_state", "organisation", "state", "asked"),
    # Who waits for an answer asks every half second whether a time is over, among all that were ever asked.
    Index("approval_by_expiry", "state", "expires"),
)
"""Approvals that machines ask people for. None is ever deleted: what became of it is its state."""

vote = Table(
    "vote",
    metadata,
    Column("approval", BigInteger, ForeignKey("approval.id"), primary_key=True),
    Column("person", BigInteger, ForeignKey("person.id"), primary_key=True),
    Column("organisation", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("approved", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("is_owner", Boolean, nullable=False),
    Column("groups", Text, nullable=False),
    # The signature of a security key, which counts once.
    Column("assertion", Text),
    Column("at", BigInteger, nullable=False),
)

credential = Table(
    "credential",
    metadata,
    Column("id", _Serial, primary_key=True),
    Column("organisation", Integer, nullable=False),
    Column("person", BigInteger, ForeignKey("person.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("credential_id", LargeBinary, nullable=False, unique=True),
    Column("public_key", LargeBinary, nullable=False),
    Column("sign_count", BigInteger, nullable=False),
    Column("added", BigInteger, nullable=False),
)
"""Security keys and passkeys of people."""

ceremony = Table(
    "ceremony",
    metadata,
    Column("person", BigInteger, ForeignKey("person.id"), primary_key=True),
    Column("challenge", LargeBinary, nullable=False),
    Column("expires", BigInteger, nullable=False),
)
"""The challenge with which a person is adding a security key."""

service_key = Table(
    "service_key",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("private_key", LargeBinary, nullable=False),
)
"""The key with which the service signs grants; one for all replicas."""

notifier = Table(
    "notifier",
    metadata,
    Column("id", _Serial, primary_key=True),
    Column("organisation", Integer, ForeignKey("organisation.id"), nullable=False),
    # Whom it tells: one person; without one, everybody of a group.
    Column("person", BigInteger, ForeignKey("person.id")),
    Column("group", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
)
"""Where people hear of approvals: webhooks, chats, mail."""

delivery = Table(
    "delivery",
    metadata,
    Column("id", _Serial, primary_key=True),
    Column("organisation", Integer, nullable=False),
    Column("notifier", BigInteger, ForeignKey("notifier.id", ondelete="CASCADE"), nullable=False),
    Column("approval", BigInteger, ForeignKey("approval.id"), nullable=False),
    Column("state", Text, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("problem", Text, nullable=False),
    UniqueConstraint("notifier", "approval"),
    Index("delivery_by_time", "state", "due"),
)
"""One row for each approval and place: each is told once."""
