"""`Protocol` as type checkers know it; at run time without `typing`, which is slow to load."""

__all__ = ["Protocol", "runtime_checkable"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, runtime_checkable
else:

    class _Shaped(type):
        """Asked whether something is an instance, a protocol looks at what it has."""

        def __instancecheck__(cls, value):
            if Protocol not in cls.__bases__:
                return super().__instancecheck__(value)
            return all(hasattr(value, name) for name in vars(cls) if not name.startswith("_"))

    class Protocol(metaclass=_Shaped):
        """What something must have; nothing need inherit from it."""

        __slots__ = ()

    def runtime_checkable(cls):
        """Every protocol is."""
        return cls
