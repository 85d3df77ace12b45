"""Record what a person named in a prompt, in the memory of the session."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from verdikt.model.entry import EntryKind
from verdikt.model.facts import NAMED_WORDS_KEY
from verdikt.model.named_words import fold_named_words
from verdikt.model.redaction import redact_text
from verdikt.model.session_state import StoredMemory

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.model.hook_message import Prompt


def record_named_words(store: FileStore, prompt: Prompt) -> None:
    """Append the names in a prompt to those of the session, unless they are there already."""
    with store.session(prompt.session_id) as log:
        before = str(StoredMemory(partial(log.read_projection, "memory")).get(NAMED_WORDS_KEY) or "")
        words = fold_named_words(before, redact_text(prompt.text)[0])
        if words != before:
            log.append(EntryKind.FEEDBACK, {"given": [], "failures": {}, "kept": {NAMED_WORDS_KEY: words}})
