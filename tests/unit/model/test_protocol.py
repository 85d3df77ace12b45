"""A protocol asks what something has, and not what it inherits from."""

from verdikt.model.protocol import Protocol, runtime_checkable


@runtime_checkable
class Named(Protocol):
    """Anything with a name that can speak."""

    @property
    def name(self) -> str:
        """What it is called."""

    def speak(self) -> str:
        """What it says."""


class Dog:
    """Inherits from nothing."""

    name = "dog"

    def speak(self) -> str:
        """Barks."""
        return "woof"


class Stone:
    """Has a name and is silent."""

    name = "stone"


class Inherited(Named):
    """Inherits from the protocol."""

    name = "someone"

    def speak(self) -> str:
        """Speaks."""
        return "hello"


def test_what_has_everything_is_an_instance() -> None:
    """Whether or not it inherits; a class that inherits is a class like any other."""
    assert isinstance(Dog(), Named)
    assert isinstance(Inherited(), Named)
    assert isinstance(Inherited(), Inherited)
    assert not isinstance(Stone(), Named)
    assert not isinstance(Dog(), Inherited)
