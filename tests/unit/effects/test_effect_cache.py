"""A command met before is not understood again, unless the world has changed under it."""

from tests.fakes import FakeWorld
from verdikt.effects.classifier import classify_shell_text
from verdikt.effects.effect_cache import MAX_ENTRIES, EffectCache
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts, PathFact


class Counter:
    """Understands, and counts how often."""

    def __init__(self) -> None:
        self.recall = EffectCache()
        self.times = 0

    def effects(self, text: str, world: FakeWorld) -> tuple[Effects, Facts]:
        facts = Facts(world)

        def count() -> Effects:
            self.times += 1
            return classify_shell_text(text, facts)

        return self.recall.get_or_compute(text, facts, count), facts


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
    assert later.to_record() == facts.to_record()


def test_another_state_of_the_disk_is_looked_at_anew() -> None:
    """What git says is part of the answer, and what was asked in vain leaves no trace."""
    counter = Counter()
    counter.effects("rm -rf notes", world("untracked"))
    effects, facts = counter.effects("rm -rf notes", world("tracked"))

    assert counter.times == 2
    assert effects == classify_shell_text("rm -rf notes", Facts(world("tracked")))
    assert facts.to_record()["path"]["/home/dev/project/notes"]["git"] == "tracked"


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
    assert facts.has_no_answers


def test_facts_that_were_asked_before_are_left_alone() -> None:
    """Then nobody could tell which questions belong to the command."""
    recall, facts = EffectCache(), Facts(world())
    facts.path("/home/dev/project/notes")

    assert recall.get_or_compute("ls", facts, lambda: classify_shell_text("ls", facts)) == classify_shell_text(
        "ls", facts
    )


def test_only_so_many_are_remembered() -> None:
    """The oldest go first."""
    counter = Counter()
    for number in range(MAX_ENTRIES + 1):
        counter.effects(f"echo {number}", world())
    counter.effects(f"echo {MAX_ENTRIES}", world())
    assert counter.times == MAX_ENTRIES + 1
    counter.effects("echo 0", world())
    assert counter.times == MAX_ENTRIES + 2
