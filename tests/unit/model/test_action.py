"""What a call is about, in the lists that people read."""

import pytest

from verdikt.model.action import describe_payload, extract_subject

CASES = [
    ({"content": "def mul(a, b): ...", "file_path": "/p/src/mul.py"}, "/p/src/mul.py", "/p/src/mul.py"),
    ({"description": "list files", "command": "ls -la"}, "ls -la", "ls -la"),
    ({"prompt": "read it", "url": "https://example.com/a"}, "https://example.com/a", "https://example.com/a"),
    ({"limit": 5, "sql": "select 1"}, "", "select 1"),
    ({"limit": 5}, "", ""),
    ({"command": ["ls"]}, "", ""),
    ("a text", "", "a text"),
    (None, "", ""),
]


@pytest.mark.parametrize(("payload", "subject", "description"), CASES)
def test_a_call_is_named_by_its_command_its_file_or_its_address(
    payload: object, subject: str, description: str
) -> None:
    """The order of the fields does not matter: a written file is named, not quoted."""
    assert extract_subject(payload) == subject
    assert describe_payload(payload) == description
