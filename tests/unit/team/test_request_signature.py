"""What machines sign."""

import pytest

from verdikt.errors import WireError
from verdikt.team.request_signature import RequestSignature, build_message, format_header, parse_header

SIGNATURE = RequestSignature(7, 1_793_000_000, "ab" * 64)


def test_header_is_read_as_it_was_written() -> None:
    """Formatting and parsing lose nothing."""
    assert parse_header(format_header(SIGNATURE)) == SIGNATURE


@pytest.mark.parametrize(
    "text", ["", "Bearer x", format_header(SIGNATURE) + "\n", format_header(SIGNATURE)[:-1], "x" * 9999]
)
def test_another_header_is_refused(text: str) -> None:
    """Only the one form is read."""
    with pytest.raises(WireError, match="expected the signature of a machine"):
        parse_header(text)


def test_every_part_of_a_request_is_signed() -> None:
    """Another method, path, machine, time or body is another message."""
    parts = ("POST", "/v1/entries", 7, 1, b"body")
    others = ("GET", "/v1/heads?x", 8, 2, b"other")
    messages = {build_message(*parts)} | {
        build_message(*parts[:index], other, *parts[index + 1 :])
        for index, other in enumerate(others)  # type: ignore[arg-type]
    }

    assert len(messages) == 6
