"""Values with slots: what a frozen dataclass gives, without its price at import.

A dataclass writes and compiles all its methods when its module is imported: 1.4 ms for one of eight
fields, half of the start of this program. Here only `__init__` is compiled, and only when the first
value of its class is made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[Any], Any]:
        return lambda decorator: decorator


T = TypeVar("T")
NOTHING = object()


class Field:
    """What stands behind the name of a field, where a plain default does not say it."""

    __slots__ = ("compare", "default_factory", "repr")

    def __init__(
        self,
        default_factory: Callable[[], object] | None,
        *,
        compare: bool,
        repr: bool,  # noqa: A002
    ) -> None:
        self.default_factory = default_factory
        self.compare = compare
        self.repr = repr


def field(
    *,
    default_factory: Callable[[], Any] | None = None,
    compare: bool = True,
    repr: bool = True,  # noqa: A002 - as in dataclasses
) -> Any:
    return Field(default_factory, compare=compare, repr=repr)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Frozen, equal when the fields are, with a hash."""
    made, fields = _slotted(cls)
    compared = [
        name
        for name, default in fields.items()
        if not isinstance(default, Field) or default.compare
    ]
    key: Callable[[object], object] = attrgetter(*compared) if compared else lambda _: ()

    def equal(self: object, other: object) -> bool:
        return key(self) == key(other) if type(other) is made else NotImplemented

    methods = {
        "__eq__": equal,
        "__hash__": lambda self: hash(key(self)),
        "__setattr__": _stays,
        "__delattr__": _stays,
    }
    for name, method in methods.items():
        setattr(made, name, method)
    return made


@dataclass_transform(field_specifiers=(field,))
def slotted(cls: type[T]) -> type[T]:
    """One that changes: it is itself alone, whatever its fields."""
    return _slotted(cls)[0]


def replace(one: T, /, **changes: object) -> T:
    """The same with some fields changed."""
    fields = {**as_dict(one), **changes}
    return type(one)(**fields)


def as_dict(one: object) -> dict[str, Any]:
    """Its fields by name, not those of the values in it."""
    names, values = _reader(type(one))  # type: ignore[arg-type]
    return dict(zip(names, values(one), strict=True))


@cache
def _reader(cls: type) -> tuple[tuple[str, ...], Callable[[object], tuple[Any, ...]]]:
    """One that reads all fields at once: a list of a thousand asks for thirty of each."""
    names = tuple(cls.__fields__)  # type: ignore[attr-defined]
    read = attrgetter(*names) if names else lambda _: ()
    return names, read if len(names) != 1 else lambda one: (read(one),)


def _slotted(cls: type[T]) -> tuple[type[T], dict[str, object]]:
    """Slots are given to a class when it is made: so it is made once more, without the defaults in
    their places. The fields of the class that it stands on come first."""
    members = dict(vars(cls))
    own = {name: members.pop(name, NOTHING) for name in cls.__annotations__}
    fields = {**getattr(cls.__base__, "__fields__", {}), **own}
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    members.update(
        __slots__=tuple(own),
        __fields__=fields,
        __match_args__=tuple(fields),
        __init__=_first,
        __repr__=_repr,
    )
    return type(cls)(cls.__name__, cls.__bases__, members), fields  # type: ignore[misc]


def _first(self: object, *args: object, **named: object) -> None:
    """The first of its class: now the way to make them is worth its price."""
    cls: Any = type(self)
    cls.__init__ = _compiled(cls)
    cls.__init__(self, *args, **named)


def _compiled(cls: type) -> Callable[..., None]:
    names: dict[str, Any] = {"NOTHING": NOTHING}
    parameters, lines = [], []
    for name, default in cls.__fields__.items():  # type: ignore[attr-defined]
        names[f"_set_{name}"] = getattr(cls, name).__set__  # also of the class that it stands on
        stored = name
        if isinstance(default, Field) and default.default_factory is not None:
            names[f"_new_{name}"] = default.default_factory
            stored = f"_new_{name}() if {name} is NOTHING else {name}"
            parameters.append(f"{name}=NOTHING")
        elif default is NOTHING or isinstance(default, Field):
            parameters.append(name)
        else:
            names[f"_default_{name}"] = default
            parameters.append(f"{name}=_default_{name}")
        lines.append(f" _set_{name}(self, {stored})")
    head = f"def __init__({', '.join(['self', *parameters])}):\n"
    exec(head + "\n".join(lines or [" pass"]), names)  # noqa: S102
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _repr(self: object) -> str:
    fields: dict[str, object] = type(self).__fields__  # type: ignore[attr-defined]
    shown = [
        name for name, default in fields.items() if not isinstance(default, Field) or default.repr
    ]
    return (
        f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"
    )


def _stays(self: object, name: str, *_: object) -> None:
    raise AttributeError(
        f"could not change {name} of {type(self).__name__}: a value stays as it is"
    )
