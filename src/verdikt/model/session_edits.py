"""What a session's memory knows of a file that the session's own tools edited.

One mark for each file, `BASE.TIP`: digests of its content before the first edit and after the last one. While the file
on disk is the tip and git's version is the base, only this session changed it, and undoing the edit loses nothing else.
"""

from __future__ import annotations

from verdikt.model.session_state import mark_key


def edit_mark_key(path: str) -> str:
    """Return the key of the mark about a file."""
    return mark_key("edit", path)


def begin_edit(mark: str, stamp: str) -> str:
    """Return the mark before an edit of a file whose content has this digest."""
    base, tip = parse_edit_mark(mark)
    # A content that is not the last tip comes from elsewhere, so it is what this edit starts from.
    return f"{base if tip and stamp == tip else stamp}."


def end_edit(mark: str, stamp: str) -> str:
    """Return the mark after an edit that left this content; empty when its beginning was not seen."""
    base, _ = parse_edit_mark(mark)
    return f"{base}.{stamp}" if base and stamp else ""


def parse_edit_mark(mark: object) -> tuple[str, str]:
    """Return base and tip; empty texts for what is not known."""
    base, _, tip = str(mark or "").partition(".")
    return base, tip
