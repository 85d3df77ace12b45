"""Copies between this machine and a bucket: what comes, what goes there, what is gone for good."""

from collections.abc import Iterator
from functools import partial

from verdikt.effects.conditions import holds
from verdikt.effects.host import is_remote_path
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_REMOTE = compile_lazily(r":?[\w.+@-]+(?:,[^:]*)?:(?![\\/]{2})")


def classify_copy(
    call: Invocation,
    *,
    deletes: str = "",
    moves: bool = False,
    whole: str = "",
    by_path: bool = False,
    by_remote: bool = False,
    into: str = "",
) -> Iterator[Effect]:
    """Classify a copy of all operands but the last to the last, or to `into`.

    Under the conditions `deletes` it removes at the far end what is not at this one; `moves` removes what it copied,
    and under the conditions `whole` that is more than one object. With `by_path` whatever is no path is there; with
    `by_remote` a name before a colon is that of a remote, even one letter, which elsewhere is a drive.
    """
    operands = [*call.args.operands, *([Word(into)] if into else [])]
    if len(operands) < 2:
        yield call.make_effect("cloud.read")
        return
    *sources, sink = operands
    is_distant = partial(_is_distant, by_path=by_path, by_remote=by_remote)
    distant = [word for word in sources if is_distant(word)]
    removes = holds(deletes, call)
    if moves and distant:
        note = "what is moved is no longer there"
        yield call.make_effect("cloud.delete", _list_targets(distant), recoverable=not holds(whole, call), note=note)
    if is_distant(sink):
        yield from call.classify_sent_files([word for word in sources if word not in distant])
        what, note = (
            ("cloud.delete", "deletes there what is not here") if removes else ("cloud.write", "puts files there")
        )
        yield call.make_effect(what, _list_targets([sink]), note=note)
        if call.has_piped_input() and any(word.text == "-" for word in sources):
            yield call.make_effect("net.send.file", _list_targets([sink]), note="what is piped to it")
    else:
        if distant:
            yield call.make_effect("net.fetch", _list_targets(distant))
        yield from call.make_effects(
            "fs.move" if moves else "fs.read", [word for word in sources if word not in distant]
        )
        note = "deletes what the bucket does not have" if removes else ""
        yield from call.make_effects("fs.delete.tree" if removes else "fs.write", [sink], note=note)


def _is_distant(word: Word, *, by_path: bool, by_remote: bool) -> bool:
    if by_remote and _REMOTE.match(word.text):
        return True
    if by_path:
        return not word.text.startswith((".", "/", "~"))
    return "://" in word.text or is_remote_path(word.text)


def _list_targets(words: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.display_text, "resource") for word in words)
