"""Rows do what named tuples do."""

import copy
import pickle

import pytest

from verdikt.model import row
from verdikt.model.row import Row


class Point(Row):
    """A row with a field of a difficult name."""

    cls: int
    y: int = 2
    self: str = ""

    @property
    def both(self) -> int:
        """Their sum."""
        return self[0] + self.y


def test_a_row_is_a_tuple_with_names() -> None:
    """However it is made."""
    for made in (
        Point(1),
        Point(1, 2),
        Point(cls=1),
        Point(1, self=""),
        Point(1, y=2, self=""),
        Point._make([1, 2, ""]),
    ):
        assert made == (1, 2, "") == (made.cls, made.y, made.self)
        assert hash(made) == hash((1, 2, ""))
        assert (made.both, type(made)) == (3, Point)


def test_it_shows_its_names_and_changes_by_copy() -> None:
    """As a named tuple does."""
    assert repr(Point(1)) == "Point(cls=1, y=2, self='')"
    assert Point(1)._replace(y=5) == Point(1, 5)
    assert Point(1)._asdict() == {"cls": 1, "y": 2, "self": ""}
    assert copy.deepcopy(Point(1)) == pickle.loads(pickle.dumps(Point(1))) == Point(1)
    with pytest.raises(AttributeError):
        Point(1).y = 3  # type: ignore[misc]
    match Point(3, 4):
        case Point(x, y):
            assert (x, y) == (3, 4)


def test_wrong_arguments_are_refused() -> None:
    """With the name of the row and of the argument."""
    for wrong, said in (
        (Point, "missing a required argument: 'cls'"),
        (lambda: Point(y=1), "missing a required argument: 'cls'"),
        (lambda: Point(1, 2, "", 4), "takes 3 arguments, found 4"),
        (lambda: Point(1, z=1), "an unexpected argument 'z'"),
        (lambda: Point(1, cls=1), "multiple values for argument 'cls'"),
    ):
        with pytest.raises(TypeError, match=f"Point.. (got )?{said}"):
            wrong()


def test_a_class_of_which_there_are_many_is_made_faster_and_no_otherwise() -> None:
    """Also when a field is called as what makes it; and a class that adds to it knows its own."""

    class Pair(Row):
        cls: int
        b: str = "b"

    class Before(Pair):
        c: int
        d: int = 4

    slow = vars(Row)["__new__"]
    for _ in range(row._OFTEN):  # type: ignore[attr-defined]
        Pair(1)

    class After(Pair):
        c: int
        d: int = 4

    assert vars(Pair)["__new__"] is not slow
    assert (Pair(1), Pair(cls=1, b="x"), Pair(1, b="x"), Pair(1, "x").cls) == ((1, "b"), (1, "x"), (1, "x"), 1)
    assert type(Pair(1)) is Pair
    for wrong in (Pair, lambda: Pair(1, "x", 2), lambda: Pair(1, x=2)):  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            wrong()
    for more in (Before, After):
        assert more(3) == (3, 4)  # type: ignore[arg-type, call-arg, comparison-overlap]
        assert more(3).d == 4  # type: ignore[call-arg]
