"""Whether it is worth waiting for an answer: the request is open, a courier runs, and a service has it."""

from pathlib import Path

import pytest

from tests.asking_machine import AskingMachine, build_call
from verdikt.ledger.approval_outbox import is_submitted, list_announced, mark_submitted, withdraw_request
from verdikt.ledger.awaited_approval import HANDOVER_SECONDS, AwaitedApproval, announce_courier, has_courier
from verdikt.model.posture import Posture


@pytest.fixture
def machine(tmp_path: Path) -> AskingMachine:
    """Return a machine that has a service."""
    return AskingMachine(tmp_path / "data")


def ask(machine: AskingMachine) -> AwaitedApproval:
    """Return the request that a call waits for."""
    decision = machine.decide()
    assert decision.awaited_approval
    return AwaitedApproval(machine.store, "s1", decision.awaited_approval)


def test_a_request_is_waited_for_while_a_courier_runs(machine: AskingMachine) -> None:
    """Without one there is nothing to wait for, and its lock ends with it."""
    awaited = ask(machine)

    assert not awaited.can_be_answered(0)
    with announce_courier(machine.store.home), announce_courier(machine.store.home):
        assert awaited.can_be_answered(0)
    assert not has_courier(machine.store.home)
    assert not awaited.can_be_answered(0)


def test_a_service_that_does_not_take_the_request_is_not_waited_for(machine: AskingMachine) -> None:
    """A service that is dead delays a call by the time that it has to take the request, and not more."""
    awaited = ask(machine)
    with announce_courier(machine.store.home):
        assert awaited.can_be_answered(HANDOVER_SECONDS)
        assert not awaited.can_be_answered(HANDOVER_SECONDS + 1)
        mark_submitted(machine.store.home, awaited.id)
        assert is_submitted(machine.store.home, awaited.id)
        assert awaited.can_be_answered(HANDOVER_SECONDS + 1)


@pytest.mark.parametrize("approved", [True, False])
def test_an_answer_ends_the_wait(machine: AskingMachine, approved: bool) -> None:
    """Seen by the growth of the log, without a lock while nothing happens."""
    awaited = ask(machine)
    id, digest = machine.ask()
    with announce_courier(machine.store.home):
        assert awaited.can_be_answered(0)
        assert not awaited.is_answered()
        machine.answer(id, digest, approved=approved)
        assert not awaited.can_be_answered(0)
        assert awaited.is_answered()


def test_a_request_that_has_expired_is_neither_open_nor_answered(machine: AskingMachine) -> None:
    """Its time is over when the session writes its next entry, or when the client's is."""
    awaited = ask(machine)
    machine.clock.seconds += 4 * 3600 + 1
    assert not awaited.is_answered()


def test_a_mark_does_not_bring_a_withdrawn_request_back(machine: AskingMachine) -> None:
    """Two couriers may run, and one of them may be late."""
    awaited = ask(machine)
    withdraw_request(machine.store.home, awaited.id)
    mark_submitted(machine.store.home, awaited.id)

    assert list_announced(machine.store.home) == {}
    assert not is_submitted(machine.store.home, awaited.id)


def test_the_lock_of_a_courier_is_no_request(machine: AskingMachine) -> None:
    """It lies in the same directory."""
    awaited = ask(machine)
    with announce_courier(machine.store.home):
        assert list_announced(machine.store.home) == {awaited.id: "s1"}


def test_what_no_one_can_answer_is_not_waited_for(tmp_path: Path) -> None:
    """A group cannot be asked without a service; the person of the machine can, in `verdikt serve`."""
    machine = AskingMachine(tmp_path / "data", number=0)

    assert machine.decide().awaited_approval == ""
    assert machine.decide(build_call("twine upload"), Posture.AUTONOMOUS).awaited_approval != ""


def test_a_call_that_needs_no_approval_waits_for_nothing(machine: AskingMachine) -> None:
    """Neither one that passes, nor one that was approved."""
    machine.answer(*machine.ask())

    assert machine.decide().awaited_approval == ""
    assert machine.decide(build_call("ls")).awaited_approval == ""
