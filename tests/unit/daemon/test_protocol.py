"""The bytes between a hook and the warm process."""

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verdikt
from verdikt.daemon import protocol
from verdikt.daemon.protocol import MalformedMessage
from verdikt.hosts import payload as adapters_payload
from verdikt.hosts.registry import HOSTS

TEXT = st.binary(max_size=60).map(lambda raw: raw.replace(b"\0", b"").decode("utf-8", "surrogateescape"))
ENV = st.dictionaries(st.sampled_from(protocol.SENT_VARIABLES), TEXT)


@given(words=st.lists(TEXT, min_size=6, max_size=6), env=ENV, payload=st.binary(max_size=300))
def test_a_question_is_read_as_it_was_asked(words: list[str], env: dict[str, str], payload: bytes) -> None:
    """Whatever bytes stand in arguments and variables arrive unchanged."""
    data = protocol.encode_request(words, env, payload)

    head, length = protocol.decode_request_prefix(data[: protocol.REQUEST_PREFIX_BYTES])
    rest = data[protocol.REQUEST_PREFIX_BYTES :]

    assert protocol.decode_head(rest[:head]) == (words, env)
    assert rest[head:] == payload
    assert length == len(payload)


@given(
    kind=st.sampled_from([0, 1, 2]),
    status=st.sampled_from([0, 2]),
    out=st.binary(max_size=200),
    err=st.binary(max_size=200),
)
def test_an_answer_is_read_as_it_was_given(kind: int, status: int, out: bytes, err: bytes) -> None:
    """Kind, status and both streams arrive unchanged."""
    data = protocol.encode_reply(kind, status, out, err)
    at = protocol.REPLY_PREFIX_BYTES

    assert protocol.decode_reply_prefix(data[:at]) == (kind, status, len(out), len(err))
    assert data[at:] == out + err


@given(st.one_of(st.binary(max_size=40), st.binary(max_size=40).map(lambda raw: protocol.MAGIC + raw)))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    """Anything is either of the protocol or `Malformed`, and never announces more than the limits."""
    for read in (protocol.decode_request_prefix, protocol.decode_reply_prefix):
        try:
            numbers = read(raw)
        except MalformedMessage:
            continue
        assert max(numbers) <= protocol.MAX_PAYLOAD_BYTES + 1
    try:
        words, env = protocol.decode_head(raw)
    except MalformedMessage:
        return
    assert len(words) == protocol.HEAD_FIELD_COUNT
    assert set(env) <= set(protocol.SENT_VARIABLES)


@pytest.mark.parametrize(
    "words",
    [
        ["v"] * 5,
        ["v"] * 7,
        ["v", "h", "e", "a\0b", "c", protocol.PYTHON_CLIENT],
        ["v", "h", "e", "a" * 70_000, "c", protocol.PYTHON_CLIENT],
    ],
    ids=["too few", "too many", "a NUL inside", "too long"],
)
def test_what_cannot_be_asked_is_refused(words: list[str]) -> None:
    """A hook learns before it connects that it must decide by itself."""
    with pytest.raises(MalformedMessage):
        protocol.encode_request(words, {}, b"")


def test_a_payload_is_too_long_for_both_or_for_neither() -> None:
    """The one byte over the limit is what makes the warm process refuse as the hook process does."""
    assert protocol.MAX_PAYLOAD_BYTES == adapters_payload.MAX_PAYLOAD_BYTES

    with pytest.raises(MalformedMessage):
        protocol.encode_request(["v"] * 6, {}, bytes(protocol.MAX_PAYLOAD_BYTES + 2))


def test_a_variable_that_nobody_reads_is_not_sent() -> None:
    """Secrets in the environment stay where they are; sent by a stranger, they are not taken."""
    data = protocol.encode_request(["v"] * 6, {"HOME": "/h", "ANTHROPIC_API_KEY": "sk-1"}, b"")

    assert b"sk-1" not in data
    assert protocol.decode_head(b"v\0" * 6 + b"HOME=/h\0LD_PRELOAD=/x\0") == (["v"] * 6, {"HOME": "/h"})


def test_a_variable_named_twice_is_refused() -> None:
    """Nobody knows which of the two is meant."""
    with pytest.raises(MalformedMessage):
        protocol.decode_head(b"v\0" * 6 + b"HOME=/a\0HOME=/b\0")


ON_THE_WAY = ["observe", "ledger", "govern.py", "policy.py", "evidence/gate_service.py", "council/runs.py", "hosts"]
ELSEWHERE = {
    "hosts/wiring": "read when hooks are installed",
    **{
        f"hosts/{name}/{module}": "of the host's description only `decision_variables`, of its code only the adapter"
        for name in HOSTS
        for module in ("__init__.py", "wiring.py", "live.py", "http_hooks.py")
    },
    "hosts/live": "the clients of `verdikt doctor`",
    "ledger/rotation.py": "only the command line rotates",
    "observe/git_index.py": "only git hooks look at an index",
    "observe/agent_environment.py": "asked by the command line, but for the names that stand in HOST_PROJECT",
}
"""Where variables are named that no decision depends on."""

VARIABLE = re.compile(
    r"HOME|PATH|USER|LOGNAME|TMPDIR|(XDG|VERDIKT|CLAUDE|CODEX|GEMINI|COPILOT|CURSOR|OPENCODE)_[A-Z_]+"
)


def test_every_variable_that_a_decision_reads_is_sent() -> None:
    """Both paths must decide the same: one that is read but not sent would be the warm process's own, or missing."""
    root = Path(verdikt.__file__).parent
    read = {name for host in HOSTS.values() for name in host.decision_variables}
    for place in ON_THE_WAY:
        path = root / place
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            if not any(str(file.relative_to(root)).startswith(other) for other in ELSEWHERE):
                read |= _named(ast.parse(file.read_text()))

    assert read - {"VERDIKT_DAEMON", "VERDIKT_HOOK_SECONDS"} == set(protocol.SENT_VARIABLES), (
        "two are for the hook process alone"
    )


def _named(tree: ast.AST) -> set[str]:
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and VARIABLE.fullmatch(text)}
