"""Protocol 1: the bytes between a hook and the warm process, one question and one answer per connection.

question = magic, u32 head length, u32 payload length, head, payload
head     = NUL-ended texts: version, host, event, argument, cwd, asker, then `NAME=VALUE` for each variable that is sent
answer   = magic, u8 kind, u8 exit status, u32 stdout length, u32 stderr length, stdout, stderr

All integers are unsigned and big-endian. Loaded by every hook, so nothing is imported here.
"""

from __future__ import annotations

from collections.abc import Mapping

MAGIC = b"VDK1"

MAX_HEAD_BYTES = 64 * 1024
"""Longest head; a hook with a longer one decides by itself."""

MAX_PAYLOAD_BYTES = 24 * 1024 * 1024
"""Longest payload that is looked at. Of a longer one, this and one byte more are sent, so that it is refused as too long."""

MAX_STREAM_BYTES = 1024 * 1024
"""Longest stdout and longest stderr."""

REQUEST_PREFIX_BYTES = len(MAGIC) + 8
REPLY_PREFIX_BYTES = len(MAGIC) + 10

HEAD_FIELD_COUNT = 6
"""Texts at the beginning of a head: version, host, event, argument, cwd, asker."""

NATIVE_CLIENT, PYTHON_CLIENT = "native", "python"
"""Who asks: the native client, which an upgrade leaves as it is, or the hook process, which is what is installed."""

KIND_ANSWER, KIND_RETRY, KIND_REFUSED = 0, 1, 2
"""Kinds: an answer; nothing was decided, ask a new process; refused, and nothing was decided."""

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
"""The variables that are sent: every one that a decision reads, by its full name, so that no secret goes with them."""

_ENCODING_ERRORS = "surrogateescape"


class MalformedMessage(ValueError):
    """Bytes that are no question or no answer of this protocol."""


def encode_request(head_fields: list[str], env: Mapping[str, str], payload: bytes) -> bytes:
    """A question; `Malformed` when it cannot be asked this way. `words` are version, host, event, argument, cwd, asker."""
    texts = [*head_fields, *(f"{name}={env[name]}" for name in SENT_VARIABLES if name in env)]
    try:
        head = b"".join(text.encode("utf-8", _ENCODING_ERRORS) + b"\0" for text in texts)
    except UnicodeEncodeError:
        raise MalformedMessage("a text that is no bytes") from None
    if len(head_fields) != HEAD_FIELD_COUNT or head.count(b"\0") != len(texts):
        raise MalformedMessage(f"expected {HEAD_FIELD_COUNT} texts without NUL")
    if len(head) > MAX_HEAD_BYTES or len(payload) > MAX_PAYLOAD_BYTES + 1:
        raise MalformedMessage("longer than can be asked")
    return MAGIC + len(head).to_bytes(4, "big") + len(payload).to_bytes(4, "big") + head + payload


def decode_request_prefix(prefix: bytes) -> tuple[int, int]:
    """Lengths of head and payload, from the first bytes of a question."""
    if len(prefix) != REQUEST_PREFIX_BYTES or not prefix.startswith(MAGIC):
        raise MalformedMessage("expected a question of protocol 1")
    head, payload = int.from_bytes(prefix[4:8], "big"), int.from_bytes(prefix[8:12], "big")
    if head > MAX_HEAD_BYTES or payload > MAX_PAYLOAD_BYTES + 1:
        raise MalformedMessage("longer than can be asked")
    return head, payload


def decode_head(head: bytes) -> tuple[list[str], dict[str, str]]:
    """The words and the variables of a head. A variable that is not on the list is left out, whoever sent it."""
    if not head.endswith(b"\0"):
        raise MalformedMessage("expected a head that ends with NUL")
    texts = [text.decode("utf-8", _ENCODING_ERRORS) for text in head[:-1].split(b"\0")]
    if len(texts) < HEAD_FIELD_COUNT:
        raise MalformedMessage(f"expected {HEAD_FIELD_COUNT} texts, found {len(texts)}")
    env: dict[str, str] = {}
    for text in texts[HEAD_FIELD_COUNT:]:
        name, equals, value = text.partition("=")
        if not equals or name in env:
            raise MalformedMessage("expected each variable once, as NAME=VALUE")
        if name in SENT_VARIABLES:
            env[name] = value
    return texts[:HEAD_FIELD_COUNT], env


def encode_reply(kind: int, status: int = 0, out: bytes = b"", err: bytes = b"") -> bytes:
    """An answer."""
    if kind not in (KIND_ANSWER, KIND_RETRY, KIND_REFUSED) or status not in (0, 2) or len(out) > MAX_STREAM_BYTES:
        raise MalformedMessage("no answer of protocol 1")
    err = err[:MAX_STREAM_BYTES]
    return MAGIC + bytes((kind, status)) + len(out).to_bytes(4, "big") + len(err).to_bytes(4, "big") + out + err


def decode_reply_prefix(prefix: bytes) -> tuple[int, int, int, int]:
    """Kind, status and the lengths of stdout and stderr, from the first bytes of an answer."""
    if len(prefix) != REPLY_PREFIX_BYTES or not prefix.startswith(MAGIC):
        raise MalformedMessage("expected an answer of protocol 1")
    kind, status = prefix[4], prefix[5]
    out, err = int.from_bytes(prefix[6:10], "big"), int.from_bytes(prefix[10:14], "big")
    if kind > KIND_REFUSED or status not in (0, 2) or out > MAX_STREAM_BYTES or err > MAX_STREAM_BYTES:
        raise MalformedMessage("no answer of protocol 1")
    return kind, status, out, err
