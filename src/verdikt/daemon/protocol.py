"""Protocol 1: the bytes between a hook and the warm process, one question and one answer per connection.

question = magic, u32 head length, u32 payload length, head, payload
head     = NUL-ended texts: version, host, event, argument, cwd, asker, then `NAME=VALUE` for each variable that is sent
answer   = magic, u8 kind, u8 exit status, u32 stdout length, u32 stderr length, stdout, stderr

All integers are unsigned and big-endian. Loaded by every hook, so nothing is imported here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the name is what type checkers know; `typing` costs more than all else here
if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC = b"VDK1"

HEAD_BYTES = 64 * 1024
"""Longest head; a hook with a longer one decides by itself."""

PAYLOAD_BYTES = 24 * 1024 * 1024
"""Longest payload that is looked at. Of a longer one, this and one byte more are sent, so that it is refused as too long."""

ANSWER_BYTES = 1024 * 1024
"""Longest stdout and longest stderr."""

QUESTION_PREFIX = len(MAGIC) + 8
ANSWER_PREFIX = len(MAGIC) + 10

WORDS = 6
"""Texts at the beginning of a head: version, host, event, argument, cwd, asker."""

NATIVE, PYTHON = "native", "python"
"""Who asks: the native client, which an upgrade leaves as it is, or the hook process, which is what is installed."""

ANSWER, AGAIN, REFUSED = 0, 1, 2
"""Kinds: an answer; nothing was decided, ask a new process; refused, and nothing was decided."""

VARIABLES = (
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

_VALUE = "surrogateescape"


class Malformed(ValueError):
    """Bytes that are no question or no answer of this protocol."""


def question(words: list[str], env: Mapping[str, str], payload: bytes) -> bytes:
    """A question; `Malformed` when it cannot be asked this way. `words` are version, host, event, argument, cwd, asker."""
    texts = [*words, *(f"{name}={env[name]}" for name in VARIABLES if name in env)]
    try:
        head = b"".join(text.encode("utf-8", _VALUE) + b"\0" for text in texts)
    except UnicodeEncodeError:
        raise Malformed("a text that is no bytes") from None
    if len(words) != WORDS or head.count(b"\0") != len(texts):
        raise Malformed(f"expected {WORDS} texts without NUL")
    if len(head) > HEAD_BYTES or len(payload) > PAYLOAD_BYTES + 1:
        raise Malformed("longer than can be asked")
    return MAGIC + len(head).to_bytes(4, "big") + len(payload).to_bytes(4, "big") + head + payload


def question_lengths(prefix: bytes) -> tuple[int, int]:
    """Lengths of head and payload, from the first bytes of a question."""
    if len(prefix) != QUESTION_PREFIX or not prefix.startswith(MAGIC):
        raise Malformed("expected a question of protocol 1")
    head, payload = int.from_bytes(prefix[4:8], "big"), int.from_bytes(prefix[8:12], "big")
    if head > HEAD_BYTES or payload > PAYLOAD_BYTES + 1:
        raise Malformed("longer than can be asked")
    return head, payload


def read_head(head: bytes) -> tuple[list[str], dict[str, str]]:
    """The words and the variables of a head. A variable that is not on the list is left out, whoever sent it."""
    if not head.endswith(b"\0"):
        raise Malformed("expected a head that ends with NUL")
    texts = [text.decode("utf-8", _VALUE) for text in head[:-1].split(b"\0")]
    if len(texts) < WORDS:
        raise Malformed(f"expected {WORDS} texts, found {len(texts)}")
    env: dict[str, str] = {}
    for text in texts[WORDS:]:
        name, equals, value = text.partition("=")
        if not equals or name in env:
            raise Malformed("expected each variable once, as NAME=VALUE")
        if name in VARIABLES:
            env[name] = value
    return texts[:WORDS], env


def answer(kind: int, status: int = 0, out: bytes = b"", err: bytes = b"") -> bytes:
    """An answer."""
    if kind not in (ANSWER, AGAIN, REFUSED) or status not in (0, 2) or len(out) > ANSWER_BYTES:
        raise Malformed("no answer of protocol 1")
    err = err[:ANSWER_BYTES]
    return MAGIC + bytes((kind, status)) + len(out).to_bytes(4, "big") + len(err).to_bytes(4, "big") + out + err


def answer_lengths(prefix: bytes) -> tuple[int, int, int, int]:
    """Kind, status and the lengths of stdout and stderr, from the first bytes of an answer."""
    if len(prefix) != ANSWER_PREFIX or not prefix.startswith(MAGIC):
        raise Malformed("expected an answer of protocol 1")
    kind, status = prefix[4], prefix[5]
    out, err = int.from_bytes(prefix[6:10], "big"), int.from_bytes(prefix[10:14], "big")
    if kind > REFUSED or status not in (0, 2) or out > ANSWER_BYTES or err > ANSWER_BYTES:
        raise Malformed("no answer of protocol 1")
    return kind, status, out, err
