"""Protocol 1: the bytes between a hook and the warm process, one request and one reply per connection.

request = magic, u32 head length, u32 payload length, head, payload
head    = NUL-terminated fields: version, host, event, argument, cwd, client kind, then `NAME=VALUE` per sent variable,
          then `patience=` and a number of seconds from a client that can wait for people, then `nonce=` and 32
          hexadecimal digits from a client that wants a proof
reply   = magic, u8 kind, u8 exit status, u32 stdout length, u32 stderr length, stdout, stderr, then the proof (32
          bytes, see `proof.py`) if the request had a nonce; before it at most one reply of the kind "wait", empty and
          without a proof, to a client with patience

All integers are unsigned and big-endian. The native client has the same constants in `native/verdikt-hook.c`.
"""

from __future__ import annotations

from collections.abc import Mapping

from verdikt.daemon.proof import append_nonce

MAGIC = b"VDK1"

# A hook whose head is longer decides in its own process.
MAX_HEAD_BYTES = 64 * 1024

# Of a longer payload, this many bytes and one more are sent, so that the receiver sees that it is too long.
MAX_PAYLOAD_BYTES = 24 * 1024 * 1024

# The limit of stdout and of stderr, each.
MAX_STREAM_BYTES = 1024 * 1024

REQUEST_PREFIX_BYTES = len(MAGIC) + 8
REPLY_PREFIX_BYTES = len(MAGIC) + 10

# version, host, event, argument, cwd, client kind
HEAD_FIELD_COUNT = 6

# An upgrade of the package does not replace a native client that `verdikt init` has copied, so its version may be old.
# A Python client is always of the installed version.
NATIVE_CLIENT, PYTHON_CLIENT = "native", "python"

CHECKED_EVENTS = ("SessionStart", "Stop", "AfterAgent", "sessionStart", "agentStop", "stop")
"""The events at which the hook itself tries the warm process with a canary; the native client leaves them to it."""

# A decision; nothing was decided and another process may decide; refused, and nothing was decided; the call waits for
# people, and the reply follows within the seconds that the client named.
KIND_ANSWER, KIND_RETRY, KIND_REFUSED, KIND_WAIT = 0, 1, 2, 3

PATIENCE_NAME = "patience"
MAX_PATIENCE_SECONDS = 45
"""Longest wait for people; well below the time limits that `verdikt init` writes into the settings of hosts."""

# Every variable that a decision reads, by its full name, so that no token or other secret of the host is sent.
SENT_VARIABLES = (
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "VERDIKT_HOME",
    "VERDIKT_RUNS_DIR",
    "VERDIKT_MANAGED_POLICY",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CODEX_HOME",
    "GEMINI_PROJECT_DIR",
)

_ENCODING_ERRORS = "surrogateescape"


class MalformedMessage(ValueError):
    """Bytes that are not a valid request or reply of this protocol."""


def encode_request(
    head_fields: list[str], env: Mapping[str, str], payload: bytes, nonce: bytes = b"", *, patience: int = 0
) -> bytes:
    """Encode a request; raise `MalformedMessage` when it cannot be expressed in this protocol.

    `head_fields` are version, host, event, argument, cwd and client kind. `patience` is how many seconds the client
    can wait for people.
    """
    fields = [*head_fields, *(f"{name}={env[name]}" for name in SENT_VARIABLES if name in env)]
    if patience:
        fields.append(f"{PATIENCE_NAME}={patience}")
    try:
        head = b"".join(field.encode("utf-8", _ENCODING_ERRORS) + b"\0" for field in fields)
    except UnicodeEncodeError:
        raise MalformedMessage("a field that cannot be encoded as bytes") from None
    if len(head_fields) != HEAD_FIELD_COUNT or head.count(b"\0") != len(fields):
        raise MalformedMessage(f"expected {HEAD_FIELD_COUNT} fields without NUL")
    head = append_nonce(head, nonce)
    if len(head) > MAX_HEAD_BYTES or len(payload) > MAX_PAYLOAD_BYTES + 1:
        raise MalformedMessage("the request is too long")
    return MAGIC + len(head).to_bytes(4, "big") + len(payload).to_bytes(4, "big") + head + payload


def decode_request_prefix(prefix: bytes) -> tuple[int, int]:
    """Return the lengths of head and payload from the first bytes of a request."""
    if len(prefix) != REQUEST_PREFIX_BYTES or not prefix.startswith(MAGIC):
        raise MalformedMessage("expected a request of protocol 1")
    head_length, payload_length = int.from_bytes(prefix[4:8], "big"), int.from_bytes(prefix[8:12], "big")
    if head_length > MAX_HEAD_BYTES or payload_length > MAX_PAYLOAD_BYTES + 1:
        raise MalformedMessage("the request is too long")
    return head_length, payload_length


def decode_head(head: bytes) -> tuple[list[str], dict[str, str]]:
    """Return the fields and the variables of a head, without variables that are not in `SENT_VARIABLES`."""
    if not head.endswith(b"\0"):
        raise MalformedMessage("expected a head that ends with NUL")
    fields = [field.decode("utf-8", _ENCODING_ERRORS) for field in head[:-1].split(b"\0")]
    if len(fields) < HEAD_FIELD_COUNT:
        raise MalformedMessage(f"expected {HEAD_FIELD_COUNT} fields, found {len(fields)}")
    env: dict[str, str] = {}
    for field in fields[HEAD_FIELD_COUNT:]:
        name, equals, value = field.partition("=")
        if not equals or name in env:
            raise MalformedMessage("expected each variable once, as NAME=VALUE")
        if name in SENT_VARIABLES:
            env[name] = value
    return fields[:HEAD_FIELD_COUNT], env


def decode_patience(head: bytes) -> int:
    """Return how many seconds a client can wait for people; 0 unless its head, without the nonce, ends with them."""
    name, _, value = head[:-1].rpartition(b"\0")[2].partition(b"=")
    if name != PATIENCE_NAME.encode() or not value.isdigit() or len(value) > 3:
        return 0
    return min(int(value), MAX_PATIENCE_SECONDS)


def encode_reply(kind: int, status: int = 0, out: bytes = b"", err: bytes = b"") -> bytes:
    """Encode a reply; raise `MalformedMessage` when it is not one of this protocol."""
    if (
        kind not in (KIND_ANSWER, KIND_RETRY, KIND_REFUSED, KIND_WAIT)
        or status not in (0, 2)
        or len(out) > MAX_STREAM_BYTES
    ):
        raise MalformedMessage("not a reply of protocol 1")
    err = err[:MAX_STREAM_BYTES]
    return MAGIC + bytes((kind, status)) + len(out).to_bytes(4, "big") + len(err).to_bytes(4, "big") + out + err


def decode_reply_prefix(prefix: bytes) -> tuple[int, int, int, int]:
    """Return kind, status and the lengths of stdout and stderr from the first bytes of a reply."""
    if len(prefix) != REPLY_PREFIX_BYTES or not prefix.startswith(MAGIC):
        raise MalformedMessage("expected a reply of protocol 1")
    kind, status = prefix[4], prefix[5]
    out_length, err_length = int.from_bytes(prefix[6:10], "big"), int.from_bytes(prefix[10:14], "big")
    # The only exit statuses that all hosts understand: 0 allows, 2 blocks.
    if kind > KIND_REFUSED or status not in (0, 2) or max(out_length, err_length) > MAX_STREAM_BYTES:
        raise MalformedMessage("not a reply of protocol 1")
    return kind, status, out_length, err_length
