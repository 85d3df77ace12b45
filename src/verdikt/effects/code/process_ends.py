"""Program text that ends processes which it picks out of a list."""

from verdikt.knowledge import join_role
from verdikt.model.lazy_regex import compile_lazily

_LISTS_PROCESSES = compile_lazily(
    rf"(?i)\b(?:process_iter|tasklist|get-process|find-?process|{join_role('process_lister')})\b|/proc\b"
)
_ENDS_PROCESS = compile_lazily(r"(?i)\b(?:kill(?:pg|all)?|terminate|send_signal|stop-process)\b")


def ends_own_process(text: str) -> bool:
    """Return whether program text looks for our processes among all, and ends what it finds."""
    return _LISTS_PROCESSES.search(text) is not None and _ENDS_PROCESS.search(text) is not None
