"""Find the place of a finding again in later contents: by what the line says, not by its number."""

from collections.abc import Callable, Mapping

from verdikt.model.council_log import OpenFinding
from verdikt.model.finding import Evidence

ContentReader = Callable[[str], bytes | None]
"""Return the bytes of a content (`mode id`); None when git no longer has them."""

# A shorter line (`}`, `pass`) is in every file; it is compared together with its neighbours.
_MIN_CHARACTERS = 8


def locate_finding(
    earlier: OpenFinding, contents: Mapping[str, str], read_content: ContentReader
) -> tuple[Evidence, ...] | None:
    """Return where a finding now points at, with the contents of a later plan; None when its place is gone.

    Without a line that can be compared, the place is the whole file, and without a file it is any file of the plan that
    the finding was about.
    """
    present = {file: content for file, content in contents.items() if content}
    if not any(place.file in earlier.contents for place in earlier.finding.evidence):
        still_there = not earlier.contents or not present.keys().isdisjoint(earlier.contents)
        return earlier.finding.evidence if still_there else None
    places = []
    for place in earlier.finding.evidence:
        old = read_content(earlier.contents.get(place.file, ""))
        excerpt = _read_excerpt(old, place.line)
        # A file that was renamed is looked for among the others of the plan.
        candidates = [place.file] if place.file in present else sorted(present) if excerpt else []
        for file in candidates:
            line = _find_line(read_content(present[file]), excerpt) if excerpt else place.line
            if line is not None or not excerpt:
                places.append(Evidence(file, line, place.note))
                break
    return tuple(places) or None


def _read_excerpt(data: bytes | None, line: int | None) -> bytes:
    """Return a line without its white space, with its neighbours if it is short; empty when it says nothing."""
    lines = (data or b"").split(b"\n")
    if line is None or not 1 <= line <= len(lines):
        return b""
    excerpt = _strip_space(lines[line - 1])
    if len(excerpt) < _MIN_CHARACTERS:
        excerpt = _strip_space(b"".join(lines[max(line - 2, 0) : line + 1]))
    return excerpt if len(excerpt) >= _MIN_CHARACTERS else b""


def _find_line(data: bytes | None, excerpt: bytes) -> int | None:
    """Return the number of the line at which an excerpt begins; None when it is not there.

    White space does not count, so neither an indentation, a broken line nor a comment behind it hides the place.
    """
    lines = [_strip_space(line) for line in (data or b"").split(b"\n")]
    start = b"".join(lines).find(excerpt)
    if start < 0:
        return None
    for number, line in enumerate(lines, 1):
        if start < len(line):
            return number
        start -= len(line)
    return None


def _strip_space(data: bytes) -> bytes:
    return b"".join(data.split())
