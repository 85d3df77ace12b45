"""The protocol between a hook and the warm process."""

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verdikt
from verdikt.daemon import protocol
from verdikt.daemon.protocol import MalformedMessage
from verdikt.errors import HookError
from verdikt.hosts.payload import parse_payload
from verdikt.hosts.registry import HOSTS

TEXT = st.binary(max_size=60).map(lambda raw: raw.replace(b"\0", b"").decode("utf-8", "surrogateescape"))
ENV = st.dictionaries(st.sampled_from(protocol.SENT_VARIABLES), TEXT)


@given(fields=st.lists(TEXT, min_size=6, max_size=6), env=ENV, payload=st.binary(max_size=300))
def test_request_round_trip_keeps_all_bytes(fields: list[str], env: dict[str, str], payload: bytes) -> None:
    """Fields, variables and payload of a request arrive unchanged, whatever bytes they hold."""
    data = protocol.encode_request(fields, env, payload)

    head, length = protocol.decode_request_prefix(data[: protocol.REQUEST_PREFIX_BYTES])
    body = data[protocol.REQUEST_PREFIX_BYTES :]

    assert protocol.decode_head(body[:head]) == (fields, env)
    assert body[head:] == payload
    assert length == len(payload)


@given(
    kind=st.sampled_from([0, 1, 2]),
    status=st.sampled_from([0, 2]),
    out=st.binary(max_size=200),
    err=st.binary(max_size=200),
)
def test_reply_round_trip_keeps_all_bytes(kind: int, status: int, out: bytes, err: bytes) -> None:
    """Kind, status and both streams of a reply arrive unchanged."""
    data = protocol.encode_reply(kind, status, out, err)
    prefix_length = protocol.REPLY_PREFIX_BYTES

    assert protocol.decode_reply_prefix(data[:prefix_length]) == (kind, status, len(out), len(err))
    assert data[prefix_length:] == out + err


@given(st.one_of(st.binary(max_size=40), st.binary(max_size=40).map(lambda raw: protocol.MAGIC + raw)))
def test_decoding_any_bytes_stays_within_the_limits(raw: bytes) -> None:
    """Any bytes are either valid or a `MalformedMessage`, and lengths never exceed the limits."""
    for read in (protocol.decode_request_prefix, protocol.decode_reply_prefix):
        try:
            numbers = read(raw)
        except MalformedMessage:
            continue
        assert max(numbers) <= protocol.MAX_PAYLOAD_BYTES + 1
    try:
        fields, env = protocol.decode_head(raw)
    except MalformedMessage:
        return
    assert len(fields) == protocol.HEAD_FIELD_COUNT
    assert set(env) <= set(protocol.SENT_VARIABLES)


@pytest.mark.parametrize(
    "fields",
    [
        ["v"] * 5,
        ["v"] * 7,
        ["v", "h", "e", "a\0b", "c", protocol.PYTHON_CLIENT],
        ["v", "h", "e", "a" * 70_000, "c", protocol.PYTHON_CLIENT],
    ],
    ids=["too few", "too many", "a NUL inside", "too long"],
)
def test_request_that_cannot_be_encoded_is_malformed(fields: list[str]) -> None:
    """A hook learns before it connects that it has to decide itself."""
    with pytest.raises(MalformedMessage):
        protocol.encode_request(fields, {}, b"")


def test_payload_limit_is_the_same_for_daemon_and_hook() -> None:
    """One byte over the limit makes the warm process refuse a payload as the hook process does."""
    with pytest.raises(HookError, match="expected a payload of at most"):
        parse_payload(bytes(protocol.MAX_PAYLOAD_BYTES + 1))

    with pytest.raises(MalformedMessage):
        protocol.encode_request(["v"] * 6, {}, bytes(protocol.MAX_PAYLOAD_BYTES + 2))


def test_unlisted_variable_is_neither_sent_nor_accepted() -> None:
    """Secrets of the environment are not sent, and other variables are ignored when a client sends them."""
    data = protocol.encode_request(["v"] * 6, {"HOME": "/h", "ANTHROPIC_API_KEY": "sk-1"}, b"")

    assert b"sk-1" not in data
    assert protocol.decode_head(b"v\0" * 6 + b"HOME=/h\0LD_PRELOAD=/x\0") == (["v"] * 6, {"HOME": "/h"})


def test_variable_sent_twice_is_malformed() -> None:
    """A variable that is sent twice makes the request invalid."""
    with pytest.raises(MalformedMessage):
        protocol.decode_head(b"v\0" * 6 + b"HOME=/a\0HOME=/b\0")


DECIDING_MODULES = [
    "observe",
    "ledger",
    "govern.py",
    "policy.py",
    "evidence/gate_service.py",
    "council/runs.py",
    "hosts",
]
OTHER_MODULES = {
    "hosts/wiring": "read when hooks are installed",
    **{
        f"hosts/{name}/{module}": "of the host's description only `decision_variables`, of its code only the adapter"
        for name in HOSTS
        for module in ("__init__.py", "wiring.py", "live.py", "http_hooks.py")
    },
    "hosts/live": "the clients of `verdikt doctor`",
    "ledger/rotation.py": "only the command line rotates",
    "observe/git_index.py": "only git hooks look at an index",
    "observe/agent_environment.py": "used by the command line, except for the names in HOST_PROJECT_VARIABLES",
}
"""Modules with variables that no decision depends on, and why."""

VARIABLE = re.compile(
    r"HOME|PATH|USER|LOGNAME|TMPDIR|(XDG|VERDIKT|CLAUDE|CODEX|GEMINI|COPILOT|CURSOR|OPENCODE)_[A-Z_]+"
)


def test_every_variable_that_a_decision_reads_is_sent() -> None:
    """Every variable that the deciding modules read is sent, so that hook and warm process decide the same."""
    root = Path(verdikt.__file__).parent
    read = {name for host in HOSTS.values() for name in host.decision_variables}
    for place in DECIDING_MODULES:
        path = root / place
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            if not any(str(file.relative_to(root)).startswith(other) for other in OTHER_MODULES):
                read |= _find_variable_names(ast.parse(file.read_text()))

    assert read - {"VERDIKT_DAEMON", "VERDIKT_HOOK_SECONDS"} == set(protocol.SENT_VARIABLES), (
        "two are for the hook process alone"
    )


def _find_variable_names(tree: ast.AST) -> set[str]:
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and VARIABLE.fullmatch(text)}


@pytest.mark.parametrize(
    ("end", "seconds"),
    [
        (b"patience=45\0", 45),
        (b"patience=15\0", 15),
        (b"patience=999\0", protocol.MAX_PATIENCE_SECONDS),
        (b"patience=9999\0", 0),
        (b"patience=-1\0", 0),
        (b"patience=\0", 0),
        (b"patience=1\0HOME=/\0", 0),
        (b"", 0),
    ],
)
def test_patience_is_the_last_field(end: bytes, seconds: int) -> None:
    """What a client can wait for people is bounded, and nothing else is taken for it."""
    assert protocol.decode_patience(b"1\0claude\0PreToolUse\0\0/\0native\0HOME=/h\0" + end) == seconds
