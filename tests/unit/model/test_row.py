"""Rows do what named tuples do."""

import copy
import pickle

import pytest

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
