"""Version control other than git, and programs that write to people."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target


def classify_svn_delete(call: Invocation) -> Iterator[Effect]:
    """At an address the deletion is a commit of its own, for everybody."""
    there = tuple(Target(word.display_text, "resource") for word in call.args.operands if "://" in word.text)
    if there:
        yield call.make_effect("repo.delete", there)
    else:
        yield call.make_effect("git.write")
