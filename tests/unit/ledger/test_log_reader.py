"""Reading a log file from its end and from its beginning."""

import tempfile

from hypothesis import given
from hypothesis import strategies as st

from verdikt.ledger.log_file import read_tail
from verdikt.ledger.log_reader import iterate_lines

PIECES = st.lists(st.sampled_from([b"\n", b"a", b"bc" * 40_000, b"d" * 65_536, b"e" * 65_535]), max_size=8)


@given(PIECES)
def test_read_tail_returns_last_line_and_torn_bytes(pieces: list[bytes]) -> None:
    """The result does not depend on where chunks begin and end."""
    text = b"".join(pieces)
    complete, newline, torn = text.rpartition(b"\n")
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.flush()
        fd = file.fileno()
        assert read_tail(fd, len(text)) == (complete.rpartition(b"\n")[2] + newline if newline else b"", torn)
        assert list(iterate_lines(fd)) == [line + b"\n" for line in text.split(b"\n")[:-1]]
