"""A command met before is not understood again, unless the world has changed under it."""

from tests.fakes import FakeWorld
from verdikt.effects.classifier import understand
from verdikt.effects.recall import MOST, Recall
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts, PathFact


class Counter:
    """Understands, and counts how often."""

    def __init__(self) -> None:
        self.recall = Recall()
        self.times = 0

    def effects(self, text: str, world: FakeWorld) -> tuple[Effects, Facts]:
        facts = Facts(world)

        def count() -> Effects:
            self.times += 1
            return understand(text, facts)

        return self.recall.effects(text, facts, count), facts


def world(state: str = "untracked", **place: str) -> FakeWorld:
    path = "/home/dev/project/notes"
    return FakeWorld(paths={path: PathFact(real=path, kind="dir", git=state)}, **place)


def test_the_same_command_is_understood_once() -> None:
    """And gives the same effects, and the same record of what was asked."""
    counter = Counter()
    first, facts = counter.effects("rm -rf notes", world())
    again, later = counter.effects("rm -rf notes", world())

    assert counter.times == 1
    assert again == first
    assert later.record() == facts.record()


def test_another_state_of_the_disk_is_looked_at_anew() -> None:
    """What git says is part of the answer, and what was asked in vain leaves no trace."""
    counter = Counter()
    counter.effects("rm -rf notes", world("untracked"))
    effects, facts = counter.effects("rm -rf notes", world("tracked"))

    assert counter.times == 2
    assert effects == understand("rm -rf notes", Facts(world("tracked")))
    assert facts.record()["path"]["/home/dev/project/notes"]["git"] == "tracked"


def test_another_place_is_another_command() -> None:
    """The same words mean something else elsewhere."""
    counter = Counter()
    counter.effects("rm -rf x", world())
    effects, _ = counter.effects("rm -rf x", world(cwd="/etc"))

    assert counter.times == 2
    assert effects.items[0].targets[0].path == "/etc/x"


def test_a_command_that_asks_nothing_is_free_the_second_time() -> None:
    """Not even the disk is asked."""
    counter = Counter()
    counter.effects("git status", world())
    _, facts = counter.effects("git status", world())

    assert counter.times == 1
    assert facts.blank


def test_facts_that_were_asked_before_are_left_alone() -> None:
    """Then nobody could tell which questions belong to the command."""
    recall, facts = Recall(), Facts(world())
    facts.path("/home/dev/project/notes")

    assert recall.effects("ls", facts, lambda: understand("ls", facts)) == understand("ls", facts)


def test_only_so_many_are_remembered() -> None:
    """The oldest go first."""
    counter = Counter()
    for number in range(MOST + 1):
        counter.effects(f"echo {number}", world())
    counter.effects(f"echo {MOST}", world())
    assert counter.times == MOST + 1
    counter.effects("echo 0", world())
    assert counter.times == MOST + 2
