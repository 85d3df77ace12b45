"""Values and records: classes whose fields are their annotations, as those of `dataclasses`, and as cheap to define as any class.

`dataclasses` writes the methods of each class as text and compiles it when the class is defined, which in a process that
lives for a few milliseconds is much of the work. Here the methods are written once, and look up what the fields are.
`dataclasses.fields`, `replace` and `asdict` work on these classes too.
"""

import sys
from operator import attrgetter

TYPE_CHECKING = False  # type checkers know better; `typing` itself is slow to load
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, dataclass_transform

    V = TypeVar("V", bound="_Fields")
else:

    def dataclass_transform(**options):
        """Only type checkers need to know."""
        return lambda cls: cls


class _Field:
    """What is known of one field: its default or how to make one, and where it takes part."""

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
    """A field that is more than its annotation and its default."""
    return _Field(default, default_factory, init, repr, compare)


class _Plan:
    """What the methods of one class need to know of its fields."""

    __slots__ = ("finish", "given", "key", "later", "made", "owner", "positional", "quick", "shown")

    def __init__(self, cls: "_FieldType", positional: int) -> None:
        given, later, shown, compared = [], [], [], []
        for name, spec in cls.__fields__.items():
            default = spec if spec.default is ... else spec.default
            if spec.init:
                given.append((name, getattr(cls, name).__set__, default))
            elif spec.factory or default is not spec:
                later.append((name, getattr(cls, name).__set__, default))
            if spec.repr:
                shown.append(name)
            if spec.compare:
                compared.append(name)
        self.owner = cls
        self.made = 0
        self.quick: Callable[..., None] | None = None
        self.given = tuple(given)
        self.later = later
        self.positional = positional
        self.shown = shown
        # Of one field it is the value alone, which is as good to compare by as a tuple of one.
        self.key: Callable[[Any], Any] = attrgetter(*compared) if compared else _nothing
        self.finish = bool(later) or cls.__post_init__ is not _Fields.__post_init__


class _FieldType(type):
    """Takes the fields of a class from its annotations, and gives it slots for them."""

    __fields__: "dict[str, _Field]"
    __plan__: _Plan
    __post_init__: "Callable[[Any], None]"

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
                own[key] = spec = default if type(default) is _Field else _Field(default)
                spec.annotation = annotation
        fields = {key: spec for base in bases for key, spec in getattr(base, "__fields__", {}).items()} | own
        names = tuple([key for key, spec in fields.items() if spec.init])
        body["__slots__"] = (*own, "__dict__") if attributes else tuple(own)
        body["__fields__"] = fields
        body["__match_args__"] = () if kw_only else names
        if any(_hastened(base) for base in bases):
            body.setdefault("__init__", _Fields.__init__)  # that of the base knows fewer fields
        cls = super().__new__(mcls, name, bases, body)
        cls.__plan__ = _Plan(cls, 0 if kw_only else len(names))
        return cls


def _annotations(body: "dict[str, Any]") -> "dict[str, Any]":
    found: dict[str, Any] | None = body.get("__annotations__")
    if found is None and sys.version_info >= (3, 14):
        from annotationlib import Format, call_annotate_function, get_annotate_from_class_namespace

        annotate = get_annotate_from_class_namespace(body)
        found = call_annotate_function(annotate, Format.FORWARDREF) if annotate else None
    return found or {}


def _hastened(cls: type) -> bool:
    """Whether a class has a constructor that was written out for its own fields."""
    plan = getattr(cls, "__plan__", None)
    return plan is not None and plan.quick is not None and cls.__dict__.get("__init__") is plan.quick


def _of_class(annotation: object) -> bool:
    """Whether an annotation is `ClassVar[…]`: then it is no field."""
    if isinstance(annotation, str):
        return annotation.startswith("ClassVar[")
    return type(annotation).__module__ == "typing" and repr(annotation).startswith("typing.ClassVar")


def _nothing(value: object) -> tuple[()]:
    return ()


class _Foreign:
    """What `dataclasses` asks of a class, made when it asks."""

    __slots__ = ("_made", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._made: dict[type, object] = {}

    def __get__(self, value: object, cls: _FieldType) -> object:
        if cls not in self._made:
            from dataclasses import field, make_dataclass

            listed = []
            for name, spec in cls.__fields__.items():
                options: dict[str, Any] = {"init": spec.init, "repr": spec.repr, "compare": spec.compare}
                if spec.factory is not None:
                    options["default_factory"] = spec.factory
                elif spec.default is not ...:
                    options["default"] = spec.default
                listed.append((name, spec.annotation, field(kw_only=True, **options)))
            self._made[cls] = getattr(make_dataclass(cls.__name__, listed), self._name)
        return self._made[cls]


class _Signature:
    """What `inspect.signature` asks of a class: what it is made from, if it does not say that itself."""

    __slots__ = ()

    def __get__(self, value: object, cls: _FieldType) -> object:
        from inspect import Parameter, Signature, signature

        init: Any = getattr(cls, "__init__")  # noqa: B009 (that of the class, not of its type)
        if init is not _Fields.__init__ and init is not cls.__plan__.quick:
            return signature(init.__get__(object(), cls))
        found = []
        for at, (name, _, default) in enumerate(cls.__plan__.given):
            kind = Parameter.POSITIONAL_OR_KEYWORD if at < cls.__plan__.positional else Parameter.KEYWORD_ONLY
            made = type(default) is _Field
            shown = Parameter.empty if made and default.factory is None else default.factory if made else default
            found.append(Parameter(name, kind, default=shown, annotation=cls.__fields__[name].annotation))
        return Signature(found, return_annotation=None)


class _Fields(metaclass=_FieldType):  # noqa: PLW1641 (values can be hashed, records cannot)
    """The methods that values and records share."""

    __slots__ = ()
    if TYPE_CHECKING:
        __fields__: dict[str, _Field]
        __plan__: _Plan
    __dataclass_fields__ = _Foreign("__dataclass_fields__")
    __dataclass_params__ = _Foreign("__dataclass_params__")
    __signature__ = _Signature()

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
        for name, put, default in rest:
            value = pop(name, default)
            if type(value) is _Field:  # which stands for a default that there is not
                if value.factory is None:
                    raise _wrong(self, f"missing a required argument: '{name}'")
                value = value.factory()
            put(self, value)
        if named:
            known = min(named) in {name for name, _, _ in plan.given}
            raise _wrong(self, f"got {'multiple values for' if known else 'an unexpected'} argument '{min(named)}'")
        plan.made += 1
        if plan.made == _OFTEN:
            _hasten(plan)
        if plan.finish:
            for _, put, default in plan.later:
                put(self, default.factory() if type(default) is _Field and default.factory else default)
            self.__post_init__()

    def __post_init__(self) -> None:
        """For what a class checks or adds once its fields are there."""

    def __repr__(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in self.__plan__.shown]
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
class Value(_Fields):
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
class Record(_Fields):
    """What is known so far: fields as those of a value, which change."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]


_OFTEN = 1000
"""After so many values of a class, a process has earned a constructor of its own for it."""


def _hasten(plan: _Plan) -> None:
    """Writes the constructor of a class out, as `dataclasses` would have when the class was defined."""
    cls: Any = plan.owner
    if cls.__init__ is not _Fields.__init__:
        return  # it has one of its own
    known: dict[str, Any] = {"_none": ...}
    frozen = cls.__setattr__ is not object.__setattr__
    taken, lines = [], []
    for at, (name, put, default) in enumerate(plan.given):
        made = type(default) is _Field
        if made and default.factory is not None:
            known[f"_make{at}"] = default.factory
            lines.append(f"if {name} is _none: {name} = _make{at}()")
        known[f"_put{at}"], known[f"_default{at}"] = put, default
        taken.append(f"{name}=_none" if made and default.factory else name if made else f"{name}=_default{at}")
        lines.append(f"_put{at}(self, {name})" if frozen else f"self.{name} = {name}")
    for at, (_, put, default) in enumerate(plan.later):
        known[f"_later{at}"], known[f"_made{at}"] = put, default
        made = type(default) is _Field and default.factory is not None
        lines.append(f"_later{at}(self, _made{at}.factory())" if made else f"_later{at}(self, _made{at})")
    if plan.finish:
        lines.append("self.__post_init__()")
    named = "" if plan.positional or not taken else "*, "
    exec(f"def __init__(self, {named}{', '.join(taken)}):\n    " + "\n    ".join(lines or ["pass"]), known)
    quick = plan.quick = known["__init__"]
    quick.__qualname__ = f"{cls.__qualname__}.__init__"
    for below in cls.__subclasses__():
        if "__fields__" in below.__dict__ and "__init__" not in below.__dict__:
            below.__init__ = _Fields.__init__
    cls.__init__ = quick


def replace(value: "V", /, **changes: "Any") -> "V":
    """The same value but for these fields."""
    for name, _, _ in value.__plan__.given:
        if name not in changes:
            changes[name] = getattr(value, name)
    return type(value)(**changes)


def fields_of(value: _Fields) -> "dict[str, Any]":
    """The fields of a value by name, in order."""
    return {name: getattr(value, name) for name in value.__fields__}


def _wrong(value: object, said: str) -> TypeError:
    return TypeError(f"{type(value).__qualname__}.__init__() {said}")


def _frozen(said: str) -> AttributeError:
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(said)
