"""Rows: tuples whose items have names, as those of `typing.NamedTuple`, and as cheap to define as any class."""

from __future__ import annotations

from operator import itemgetter

__all__ = ["Row"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as Row
else:
    try:
        from _collections import _tuplegetter as _item  # what `collections.namedtuple` uses, where it is there
    except ImportError:

        def _item(at, doc):
            return property(itemgetter(at), doc=doc)

    class _RowType(type):
        """Takes the fields of a class from its annotations."""

        def __new__(mcls, name, bases, body):
            names = tuple(body.get("__annotations__", ()))
            body["_field_defaults"] = defaults = {key: body[key] for key in names if key in body}
            body["_fields"] = body["__match_args__"] = names
            body["_defaults"] = tuple(defaults.values())  # of the last fields: none without one follows
            body.update([(key, _item(at, "")) for at, key in enumerate(names)])
            body["__slots__"] = ()
            return super().__new__(mcls, name, bases, body)

    class Row(tuple, metaclass=_RowType):
        """A tuple whose items have names."""

        def __new__(cls, /, *given, **named):
            lacking = len(cls._fields) - len(given)
            if named or lacking < 0 or lacking > len(cls._defaults):
                given = _filled(cls, given, named)
            elif lacking:
                given += cls._defaults[-lacking:]
            return tuple.__new__(cls, given)

        @classmethod
        def _make(cls, given):
            return cls(*given)

        def _replace(self, **changes):
            return type(self)(**self._asdict() | changes)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            shown = [f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)]
            return f"{type(self).__name__}({', '.join(shown)})"

        def __getnewargs__(self):
            return tuple(self)

    def _filled(cls, given, named):
        """The items, those that are named or left out included."""
        names = cls._fields
        if len(given) > len(names):
            raise TypeError(f"{cls.__name__}() takes {len(names)} arguments, found {len(given)}")
        items = [*given]
        for name in names[len(given) :]:
            if name in named:
                items.append(named.pop(name))
            elif name in cls._field_defaults:
                items.append(cls._field_defaults[name])
            else:
                raise TypeError(f"{cls.__name__}() missing a required argument: '{name}'")
        if named:
            known = min(named) in names
            found = "multiple values for" if known else "an unexpected"
            raise TypeError(f"{cls.__name__}() got {found} argument '{min(named)}'")
        return items
