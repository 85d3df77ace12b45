"""Values and records do what dataclasses do."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import ClassVar

import pytest

from verdikt.model.value import _OFTEN, Record, Value, field, fields_of, replace


class Point(Value):
    """A value with everything."""

    kind: ClassVar[str] = "point"
    late: "ClassVar[str]" = "too"

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x")
        object.__setattr__(self, "size", self.x * self.y)


class Named(Value, kw_only=True):
    """Fields that are given by name."""

    name: str
    parts: tuple[Point, ...] = ()


class Empty(Value):
    """No fields at all."""


class Count(Record):
    """A record."""

    number: int = 0
    seen: list[int] = field(default_factory=list)


class More(Point):
    """A value with the fields of another and one more."""

    z: int = 3


class Counted(Count):
    """A record that looks at what it is asked for."""

    __slots__ = ("asked",)


def test_values_are_equal_by_their_fields() -> None:
    """Those that are compared, and only within one class."""
    assert Point(1) == Point(1, 2, ["other"]) != Point(1, 3)
    assert hash(Point(1)) == hash(Point(1, 2, ["other"]))
    assert Point(1) != (1, 2)
    assert More(1) != Point(1)
    assert Empty() == Empty()
    assert len({Empty(), Empty(), Named(name="a"), Named(name="a"), Named(name="b")}) == 3


def test_they_show_what_they_are_made_of() -> None:
    """As a dataclass does."""
    assert repr(Point(1)) == "Point(x=1, y=2, tags=[])"
    assert repr(More(1)) == "More(x=1, y=2, tags=[], z=3)"
    assert repr(Empty()) == "Empty()"
    assert repr(Count()) == "Count(number=0, seen=[])"
    assert fields_of(Named(name="a")) == {"name": "a", "parts": ()}


def test_they_do_not_change() -> None:
    """Neither what they have nor what they have not; a record does."""
    for change in (
        lambda: setattr(Point(1), "x", 2),
        lambda: setattr(Point(1), "z", 2),
        lambda: delattr(Point(1), "x"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot (assign to|delete) field"):
            change()
    count = Count()
    count.number += 1
    assert count == Count(1)
    with pytest.raises(AttributeError):
        count.other = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="unhashable"):
        hash(count)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Point, r"Point.__init__\(\) missing a required argument: 'x'"),
        (Named, "missing a required argument: 'name'"),
        (lambda: Point(1, 2, [], 4), "takes 3 positional arguments, found 4"),
        (lambda: Named("a"), "takes 0 positional arguments, found 1"),
        (lambda: Point(1, z=2), "an unexpected argument 'z'"),
        (lambda: Point(1, size=2), "an unexpected argument 'size'"),
        (lambda: Point(1, x=2), "multiple values for argument 'x'"),
    ],
)
def test_wrong_arguments_are_refused(wrong: Callable[[], object], said: str) -> None:
    """With the name of the class and of the argument."""
    with pytest.raises(TypeError, match=said):
        wrong()


def test_a_value_that_is_wrong_cannot_be() -> None:
    """`__post_init__` has the last word, also on what `replace` makes."""
    with pytest.raises(ValueError, match="x"):
        replace(Point(1), x=-1)
    assert replace(Point(2), y=5).size == 10
    assert replace(Named(name="a", parts=(Point(1),)), name="b") == Named(name="b", parts=(Point(1),))


def test_defaults_that_are_made_are_made_for_each() -> None:
    """No two share a list."""
    assert Point(1).tags is not Point(1).tags
    assert Count().seen is not Count().seen


def test_patterns_match_them() -> None:
    """By position where they are made by position."""
    match Point(1, 5):
        case Point(x, y):
            assert (x, y) == (1, 5)
    assert Named.__match_args__ == ()


def test_they_can_be_copied_and_sent() -> None:
    """Frozen and slotted as they are."""
    for value in (Point(1, 2, ["a"]), Named(name="a", parts=(Point(1),)), Count(3, [1]), Empty()):
        assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(Point(1)).size == 2


def test_the_functions_of_dataclasses_know_them() -> None:
    """For whoever writes guards and reports of their own."""
    assert [(f.name, f.init) for f in dataclasses.fields(Point)][2:] == [("tags", True), ("size", False)]
    assert dataclasses.replace(Point(1), y=7) == Point(1, 7)
    assert dataclasses.asdict(Named(name="a", parts=(Point(1),)))["parts"][0] == {"x": 1, "y": 2, "tags": [], "size": 2}
    assert dataclasses.is_dataclass(Named)


def test_they_say_what_they_take() -> None:
    """The signature is that of the fields."""
    assert list(inspect.signature(Point).parameters) == ["x", "y", "tags"]
    assert inspect.signature(Named).parameters["name"].kind is inspect.Parameter.KEYWORD_ONLY
    assert inspect.signature(Point).parameters["y"].default == 2


def test_a_class_may_add_to_another() -> None:
    """With slots of its own and no fields."""
    counted = Counted(1)
    counted.asked = True

    assert (counted.number, counted.asked) == (1, True)


def test_defining_one_loads_nothing() -> None:
    """Neither `dataclasses` nor `typing`: that is what they are for."""
    program = (
        "import sys; from verdikt.model.value import Value\n"
        "class A(Value, kw_only=True):\n    a: int = 1\n"
        "assert A(a=1) == A() and repr(A()) == 'A(a=1)'\n"
        "assert not {'dataclasses', 'typing', 'inspect', 're'} & set(sys.modules), sys.modules"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_class_of_which_there_are_many_is_made_faster_and_no_otherwise() -> None:
    """Whatever its fields are; and a class that adds to it knows its own."""

    class Little(Value):
        a: int
        b: list[int] = field(default_factory=list)
        c: str = "c"
        d: str = field(init=False, compare=False)

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("a")
            object.__setattr__(self, "d", "")

    class Named(Record, kw_only=True):
        a: int
        b: int = 2

    class Before(Little):
        e: int = 5

    for _ in range(_OFTEN):
        Little(1)
        Named(a=1)

    class After(Little):
        e: int = 5

    assert Value.__init__ is Before.__init__ not in (Little.__init__, Named.__init__)
    for made in (Little(1, [2]), Little(a=1, b=[2], c="c")):
        assert (made.a, made.b, made.c, made.d) == (1, [2], "c", "")
    assert Little(1).b is not Little(1).b
    with pytest.raises(ValueError, match="a"):
        Little(-1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Little(1).a = 2  # type: ignore[misc]
    assert Named(a=1) == Named(a=1, b=2) != Named(a=1, b=3)
    for wrong in (Little, lambda: Little(1, [], "", ""), lambda: Named(1), lambda: Named(a=1, x=2)):
        with pytest.raises(TypeError):
            wrong()
    for more in (Before, After):
        assert (more(1, e=6).e, more(1).e, more(1).c) == (6, 5, "c")
    assert list(inspect.signature(Little).parameters) == ["a", "b", "c"]
