"""Virtual machines and their disks."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target


def classify_by_verb(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    index, kind = command_verbs.find_verb(path)
    target = tuple(Target(word.display_text, "resource") for word in call.args.operands[index + 1 :])
    if kind == "delete":
        yield call.make_effect(
            "vm.delete", target, recoverable=True if "snapshot" in " ".join(path[: index + 1]) else None
        )
    elif kind == "write":
        pieces = command_verbs.split_tokens(path[index])
        yield call.make_effect(
            "vm.run"
            if {"start", "create", "launch", "resume", "run", "new", "clone", "up"} & set(pieces)
            else "vm.stop",
            target,
        )
    else:
        yield call.make_effect("vm.read")


def classify_multipass(call: Invocation) -> Iterator[Effect]:
    yield call.make_effect(
        "vm.delete",
        tuple(Target(word.display_text, "resource") for word in call.args.operands),
        recoverable=not call.args.has_flag("-p --purge"),
    )


def classify_unregister(call: Invocation) -> Iterator[Effect]:
    whole = call.args.has_flag("--delete --delete-all")
    yield call.make_effect(
        "vm.delete", tuple(Target(word.display_text, "resource") for word in call.args.operands), recoverable=not whole
    )
