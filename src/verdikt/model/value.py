"""Values and records: classes whose fields are their annotations, as those of `dataclasses`, and as cheap to define as any class.

`dataclasses` writes the constructor of each class as text and compiles it when the class is defined, which in a process that
lives for a few milliseconds is much of the work. Here all classes share one, which looks up what the fields are; a class of
which a process makes many gets its own after all. `dataclasses.fields`, `replace` and `asdict` work on these classes too.
"""

import sys
from operator import attrgetter

TYPE_CHECKING = False  # type checkers know better; `typing` itself is slow to load
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, dataclass_transform

    V = TypeVar("V", bound="_Structure")
else:

    def dataclass_transform(**options):
        """Only type checkers need to know."""
        return lambda cls: cls


class _Field:
    """What is known of one field: its annotation, and what `dataclasses.field` would be told of it."""

    __slots__ = ("annotation", "compare", "default", "factory", "init", "repr")

    def __init__(
        self,
        default: "Any" = ...,
        factory: "Callable[[], Any] | None" = None,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
    ) -> None:
        self.default = default  # `...` for none: no field has that as its value
        self.factory = factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.annotation: object = None


def field(
    *,
    default: "Any" = ...,
    default_factory: "Callable[[], Any] | None" = None,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
) -> "Any":
    """A field that is more than its annotation and its default; one without `init` is filled by `__post_init__`."""
    return _Field(default, default_factory, init, repr, compare)


class _Plan:
    """What the methods of a class need to know of its fields."""

    __slots__ = ("given", "key", "made", "positional")

    def __init__(self, cls: "_FieldType", kw_only: bool) -> None:
        self.given = tuple([(name, getattr(cls, name).__set__, it) for name, it in cls.__fields__.items() if it.init])
        self.positional = 0 if kw_only else len(self.given)
        compared = [name for name, it in cls.__fields__.items() if it.compare]
        # Of one field it is the value alone, which is as good to compare by as a tuple of one.
        self.key: Callable[[Any], Any] = attrgetter(*compared) if compared else _nothing
        self.made = 0


def _nothing(value: object) -> tuple[()]:
    return ()


class _FieldType(type):
    """Takes the fields of a class from its annotations, and gives it slots for them."""

    __fields__: "dict[str, _Field]"
    __plan__: _Plan

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        body: "dict[str, Any]",
        *,
        kw_only: bool = False,
        attributes: bool = False,
    ) -> "_FieldType":
        if "__slots__" in body:  # a class without fields of its own
            return super().__new__(mcls, name, bases, body)
        own: dict[str, _Field] = {}
        for key, annotation in _annotations(body).items():
            if not _of_class(annotation):
                default = body.pop(key, ...)
                own[key] = it = default if type(default) is _Field else _Field(default)
                it.annotation = annotation
        fields = {key: it for base in bases for key, it in getattr(base, "__fields__", {}).items()} | own
        body["__slots__"] = (*own, "__dict__") if attributes else tuple(own)
        body["__fields__"] = fields
        body["__match_args__"] = () if kw_only else tuple([key for key, it in fields.items() if it.init])
        if own:
            body.setdefault("__init__", _Structure.__init__)  # that of a base knows fewer fields
        cls = super().__new__(mcls, name, bases, body)
        cls.__plan__ = _Plan(cls, kw_only)
        return cls


def _annotations(body: "dict[str, Any]") -> "dict[str, Any]":
    found: dict[str, Any] | None = body.get("__annotations__")
    if found is None and sys.version_info >= (3, 14):
        from annotationlib import Format, call_annotate_function, get_annotate_from_class_namespace

        annotate = get_annotate_from_class_namespace(body)
        found = call_annotate_function(annotate, Format.FORWARDREF) if annotate else None
    return found or {}


def _of_class(annotation: object) -> bool:
    """Whether an annotation is `ClassVar[…]`: then it is no field."""
    if isinstance(annotation, str):
        return annotation.startswith("ClassVar[")
    return type(annotation).__module__ == "typing" and repr(annotation).startswith("typing.ClassVar")


class _Asked:
    """What `dataclasses` and `inspect` ask of a class, worked out when they ask."""

    __slots__ = ("_answer",)

    def __init__(self, answer: "Callable[[Any], object]") -> None:
        self._answer = answer

    def __get__(self, value: object, cls: type) -> object:
        return self._answer(cls)


def _twin(cls: _FieldType) -> "Any":
    """A dataclass with the same fields."""
    from dataclasses import MISSING, field, make_dataclass

    listed = []
    for at, (name, it) in enumerate(cls.__fields__.items()):
        made: Any = {"default": MISSING if it.default is ... else it.default, "default_factory": it.factory or MISSING}
        by_name = at >= cls.__plan__.positional
        listed.append(
            (name, it.annotation, field(init=it.init, repr=it.repr, compare=it.compare, kw_only=by_name, **made))
        )
    return make_dataclass(cls.__name__, listed)


def _signature(cls: "Any") -> object:
    """What a class is made from; None where a constructor of its own says that."""
    from inspect import signature

    return signature(_twin(cls)) if cls.__init__ is _Structure.__init__ else None


class _Structure(metaclass=_FieldType):  # noqa: PLW1641 (values can be hashed, records cannot)
    """The methods that values and records share."""

    __slots__ = ()
    if TYPE_CHECKING:
        __fields__: dict[str, _Field]
        __plan__: _Plan
    __dataclass_fields__ = _Asked(lambda cls: _twin(cls).__dataclass_fields__)
    __dataclass_params__ = _Asked(lambda cls: _twin(cls).__dataclass_params__)
    __signature__ = _Asked(_signature)

    def __init__(self, /, *given: "Any", **named: "Any") -> None:
        plan = self.__plan__
        rest = plan.given
        if given:
            if len(given) > plan.positional:
                raise _wrong(self, f"takes {plan.positional} positional arguments, found {len(given)}")
            for (_, put, _), value in zip(rest, given, strict=False):
                put(self, value)
            rest = rest[len(given) :]
        pop = named.pop
        for name, put, it in rest:
            value = pop(name, ...)
            if value is ...:
                if it.default is not ...:
                    value = it.default
                elif it.factory is not None:
                    value = it.factory()
                else:
                    raise _wrong(self, f"missing a required argument: '{name}'")
            put(self, value)
        if named:
            known = min(named) in {name for name, _, _ in plan.given}
            raise _wrong(self, f"got {'multiple values for' if known else 'an unexpected'} argument '{min(named)}'")
        plan.made += 1
        if plan.made == _OFTEN:
            _write_out(type(self))
        self.__post_init__()

    def __post_init__(self) -> None:
        """For what a class checks or adds once its fields are there."""

    def __repr__(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name, it in self.__fields__.items() if it.repr]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        key = self.__plan__.key
        return bool(key(self) == key(other))

    def __replace__(self: "V", **changes: "Any") -> "V":
        return replace(self, **changes)

    def __getstate__(self) -> "list[Any]":
        return [getattr(self, name, ...) for name in self.__fields__]

    def __setstate__(self, state: "list[Any]") -> None:
        for name, value in zip(self.__fields__, state, strict=True):
            if value is not ...:
                getattr(type(self), name).__set__(self, value)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Value(_Structure):
    """A value: equal to every other of its class with equal fields, and never changed.

    `kw_only` fields are given by name; with `attributes` the class has room for cached properties.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(self.__plan__.key(self))

    def __setattr__(self, name: str, value: object) -> None:
        raise _frozen(f"cannot assign to field '{name}'")

    def __delattr__(self, name: str) -> None:
        raise _frozen(f"cannot delete field '{name}'")


@dataclass_transform(field_specifiers=(field,))
class Record(_Structure):
    """What is known so far: fields as those of a value, which change."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]


_OFTEN = 1000
"""After so many values of a class, a process has earned a constructor of its own for it."""


def _write_out(cls: "Any") -> None:
    """Gives a class the constructor that `dataclasses` would have written when the class was defined."""
    if cls.__init__ is not _Structure.__init__:
        return  # it has one of its own
    known: dict[str, Any] = {}
    frozen = cls.__setattr__ is not object.__setattr__
    taken, lines = [], []
    for at, (name, put, it) in enumerate(cls.__plan__.given):
        known[f"_put{at}"], known[f"_default{at}"] = put, it.default
        if it.factory is not None:
            known[f"_make{at}"] = it.factory
            taken.append(f"{name}=...")
            lines.append(f"if {name} is ...: {name} = _make{at}()")
        else:
            taken.append(name if it.default is ... else f"{name}=_default{at}")
        lines.append(f"_put{at}(self, {name})" if frozen else f"self.{name} = {name}")
    if cls.__post_init__ is not _Structure.__post_init__:
        lines.append("self.__post_init__()")
    by_name = "" if cls.__plan__.positional or not taken else "*, "
    exec(f"def __init__(self, {by_name}{', '.join(taken)}):\n    " + "\n    ".join(lines or ["pass"]), known)
    cls.__init__ = known["__init__"]
    cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"


def replace(value: "V", /, **changes: "Any") -> "V":
    """The same value but for these fields."""
    for name, _, _ in value.__plan__.given:
        if name not in changes:
            changes[name] = getattr(value, name)
    return type(value)(**changes)


def fields_of(value: _Structure) -> "dict[str, Any]":
    """The fields of a value by name, in order."""
    return {name: getattr(value, name) for name in value.__fields__}


def _wrong(value: object, said: str) -> TypeError:
    return TypeError(f"{type(value).__qualname__}.__init__() {said}")


def _frozen(said: str) -> AttributeError:
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(said)
