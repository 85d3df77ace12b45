"""No secret survives redaction, wherever a host puts it, and an independent detector finds nothing more."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.plugins.base import RegexBasedDetector
from hypothesis import given
from hypothesis import strategies as st

from tests.planted import PEM, PLANTED
from verdikt.errors import CanonicalError
from verdikt.model.action import Action
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.redaction import mask_tokens, redact_action, redact_text, redact_value
from verdikt.model.secret_detection import find_secrets
from verdikt.model.tool_kind import classify_tool

PAYLOADS: dict[str, dict[str, Any]] = {
    # Tool inputs in the shapes that hosts send.
    "Bash": {"command": "make test", "description": "run the tests", "timeout": 1000, "run_in_background": False},
    "Write": {"file_path": "/p/a.py", "content": "x = 1\n"},
    "Edit": {"file_path": "/p/a.py", "old_string": "x", "new_string": "y", "replace_all": True},
    "MultiEdit": {
        "file_path": "/p/a.py",
        "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "", "new_string": "z"}],
    },
    "NotebookEdit": {"notebook_path": "/p/n.ipynb", "cell_id": "c1", "new_source": "1 + 1", "cell_type": "code"},
    "Read": {"file_path": "/p/a.py", "offset": 1, "limit": 20},
    "Grep": {"pattern": "def ", "path": "/p", "glob": "*.py", "-n": True},
    "WebFetch": {"url": "https://host/page", "prompt": "what does it say"},
    "WebSearch": {"query": "news", "allowed_domains": ["host"]},
    "Task": {"description": "look", "prompt": "look around", "subagent_type": "reviewer"},
    "TodoWrite": {"todos": [{"content": "a", "status": "pending", "activeForm": "b"}]},
    "mcp__db__query": {"sql": "select 1", "params": {"a": ["b", {"c": "d"}]}, "options": {"verbose": "yes"}},
    "shell": {"command": ["bash", "-lc", "make"], "workdir": "/p", "justification": "tests"},
    "apply_patch": {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"},
    "exec_command": {"cmd": "ls", "workdir": "/p", "yield_time_ms": 1000},
    "run_shell_command": {"command": "ls", "description": "list", "directory": "/p"},
    "replace": {"file_path": "/p/a", "old_string": "a", "new_string": "b", "expected_replacements": 1},
    "read_many_files": {"include": ["a", "b"], "exclude": ["c"]},
    "str_replace_editor": {"command": "create", "path": "/p/a", "file_text": "x", "view_range": [1, 2]},
    "bash": {"command": "ls", "sessionId": "s", "async": False},
    "edit": {"filePath": "/p/a", "oldString": "x", "newString": "y"},
}


def list_positions(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield every position of a string in a payload, keys included (marked by `"key"` as the last step)."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key, "key")
            yield from list_positions(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from list_positions(inner, (*path, at))


def insert_text(value: Any, path: tuple[Any, ...], text: str) -> Any:
    """Return a copy of the payload with the text at that position."""
    if not path:
        return f"{value} {text} {value}"
    if path[1:] == ("key",):
        return {(f"{key} {text}" if key == path[0] else key): inner for key, inner in value.items()}
    if isinstance(value, dict):
        return {key: insert_text(inner, path[1:], text) if key == path[0] else inner for key, inner in value.items()}
    return [insert_text(inner, path[1:], text) if at == path[0] else inner for at, inner in enumerate(value)]


ASSIGNED = [
    ("password", "PASSWORD=Tr0ub4dor-3", "Tr0ub4dor-3"),
    ("password", "--password Tr0ub4dor-3", "Tr0ub4dor-3"),
    ("key", "api_key: 0a1b2c3d4e5f6g7h8i9j", "0a1b2c3d4e5f6g7h8i9j"),
    ("authorization", "Authorization: Bearer 0a1b2c3d4e5f6g7h8i9j", "0a1b2c3d4e5f6g7h8i9j"),
]
SECRETS = [*((kind, secret, secret) for kind, secret in PLANTED), *ASSIGNED, ("private-key", PEM, PEM.splitlines()[1])]


@pytest.mark.parametrize("tool", PAYLOADS)
def test_redaction_covers_every_field_of_every_payload(tool: str) -> None:
    """Each secret at each position of each host's payload is removed, and its kind is reported."""
    spots = list(list_positions(PAYLOADS[tool]))
    for at, (kind, text, secret) in enumerate(SECRETS):
        for path in (spots[at % len(spots)], spots[(at * 7 + 3) % len(spots)]):
            payload = insert_text(PAYLOADS[tool], path, text)

            action, kinds = redact_action(Action(kind=classify_tool(tool), tool=tool, payload=payload, cwd="/p"))

            assert kind in kinds
            assert secret.encode() not in encode_canonical(action.payload)
            assert redact_text(json.dumps(action.payload, ensure_ascii=False))[1] == ()


@given(
    st.sampled_from(SECRETS),
    st.text(max_size=30),
    st.text(max_size=30),
    st.sampled_from([" ", "\n", '"', "'", ",", "\t"]),
)
def test_redaction_does_not_depend_on_the_surrounding_text(
    secret: tuple[str, str, str], left: str, right: str, gap: str
) -> None:
    """Any text before and after, as plain text and within JSON."""
    _, text, hidden = secret
    whole = f"{left}{gap}{text}{gap}{right}"

    assert hidden not in redact_text(whole)[0]
    assert hidden not in redact_text(json.dumps(whole, ensure_ascii=False))[0]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    )
)
def test_redaction_accepts_any_value_and_is_idempotent(value: Any) -> None:
    """Any value is redacted, and redacting it again changes nothing."""
    once, _ = redact_value(value)

    try:
        assert encode_canonical(redact_value(once)[0]) == encode_canonical(once)
        mask_tokens(once)
    except CanonicalError:
        pass


@given(st.text(st.sampled_from("pasword=:'\"`$(){}<>;| \n-_.xX19/\\keytoken")))
def test_find_secrets_spans_are_ordered_and_separate(text: str) -> None:
    """Spans lie in order within the text, and none overlaps the next."""
    at = 0
    for secret in find_secrets(text):
        assert at <= secret.start < secret.end <= len(text)
        at = secret.end


DETECTORS = [
    plugin()
    for plugin in get_mapping_from_secret_type_to_class().values()
    if issubclass(plugin, RegexBasedDetector) and plugin.__name__ not in ("IPPublicDetector",)
]


@pytest.mark.parametrize(("kind", "secret"), PLANTED)
def test_detect_secrets_finds_nothing_in_redacted_text(kind: str, secret: str) -> None:
    """detect-secrets, with all its rules, finds nothing in what would be recorded."""
    for line in (f"x = '{secret}'", f'{{"value": "{secret}"}}', f"export X={secret}", f"AWS_SECRET_KEY = '{secret}'"):
        redacted = redact_text(line)[0]
        for detector in DETECTORS:
            assert not [finding for finding in detector.analyze_string(redacted) if "<secret:" not in finding], (
                detector.secret_type
            )


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: detector.secret_type)
def test_every_detect_secrets_rule_has_a_counterpart(detector: RegexBasedDetector) -> None:
    """For every kind that detect-secrets knows, a sample is found by it and by verdikt."""
    apart = {
        "Twilio API Key",
        "Cloudant Credentials",
        "IBM Cloud IAM Key",
        "IBM COS HMAC Credentials",
        "SoftLayer Credentials",
    }
    texts = [secret for _, secret in PLANTED] + [PEM.splitlines()[0] + "\n" + PEM.splitlines()[1]]
    theirs = [text for text in texts if list(detector.analyze_string(text))]

    assert theirs or detector.secret_type in apart
    assert all(find_secrets(text) for text in theirs)
