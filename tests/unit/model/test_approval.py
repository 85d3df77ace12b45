"""Who has to approve, as a rule says it."""

from typing import Any

import pytest

from verdikt.errors import PolicyError
from verdikt.model.approval import ApprovalNeed, need_from_data, parse_need

KEY = "sha256:" + "0f" * 32


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"by": {"group": "release"}, "count": 2, "separate": True},
        {"by": {"group": "release"}, "strong": True, "keys": [KEY]},
        {"by": "self", "strong": True, "expires": "1h", "valid": "5m"},
    ],
)
def test_a_need_is_read_back_as_it_was_written(data: dict[str, Any]) -> None:
    """From its record, which people approve, and from the keys of the policy file."""
    need = need_from_data(data)

    assert parse_need(need.to_record()) == need
    assert need_from_data(need.dump()) == need


def test_a_need_without_keys_has_the_record_that_it_always_had() -> None:
    """The digests of what was asked before there were any stay."""
    assert "keys" not in ApprovalNeed().to_record()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"by": "self", "count": 2}, "`by: self` is one person"),
        ({"by": {"group": ""}}, "expected the name of a group, found none"),
        ({"by": {"group": "a\nb"}}, "expected the name of a group"),
        ({"by": {"group": "a"}, "count": 21}, "expected a `count` of 1 to 20, found 21"),
        ({"expires": "8d"}, "expected `expires` of 1s to 168h"),
        ({"keys": [KEY]}, "`keys` says which security keys count, and needs `strong: true`"),
        ({"strong": True, "keys": ["ssh-ed25519 AAAA"]}, "expected a key as Settings shows it"),
        ({"strong": True, "keys": [KEY.upper()]}, "expected a key as Settings shows it"),
        ({"strong": True, "keys": [KEY] * 101}, "expected at most 100 `keys`, found 101"),
        ({"who": "me"}, "`approval` has no key `who`"),
    ],
)
def test_a_need_that_could_not_be_met_or_is_no_need_is_refused(data: dict[str, Any], message: str) -> None:
    """The message names what is wrong."""
    with pytest.raises(PolicyError, match=message.replace("(", r"\(")):
        need_from_data(data)


@pytest.mark.parametrize("change", [{"keys": "x"}, {"keys": None}, {"keys": ["x"]}, {"count": True}, {"more": 1}])
def test_a_record_of_another_form_is_refused(change: dict[str, Any]) -> None:
    """It came from a machine or was stored by another version."""
    with pytest.raises(PolicyError):
        parse_need(ApprovalNeed().to_record() | change)
