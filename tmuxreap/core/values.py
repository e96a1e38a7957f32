"""Value classes with slots: frozen dataclasses without their import cost; and enums of words.

A dataclass generates and compiles all its methods at import: 1.4 ms for eight fields, half of this
program's startup in total. Here only `__init__` is compiled, when a class is first instantiated."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
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


class Word(str, Enum):
    """An enum whose members equal their text and are printed as it."""

    def __str__(self) -> str:
        return str(self.value)


class Field:
    """The settings of a field that has more than a plain default."""

    __slots__ = ("compare", "default", "default_factory", "kw_only", "shown")

    def __init__(self, default: object, default_factory: Callable[[], object] | None) -> None:
        self.default = default
        self.default_factory = default_factory
        self.compare = self.shown = True
        self.kw_only = False


def field(
    *,
    default: Any = NOTHING,
    default_factory: Callable[[], Any] | None = None,
    compare: bool = True,
    repr: bool = True,  # noqa: A002 - as in dataclasses
    kw_only: bool = False,
) -> Any:
    """Declare a field as in dataclasses; one that is `kw_only` comes after those of a subclass."""
    made = Field(default, default_factory)
    made.compare = compare
    made.shown = repr
    made.kw_only = kw_only
    return made


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class immutable and hashable; instances are equal if their fields are."""
    value_class, fields = _slotted(cls)
    compared = [
        name
        for name, default in fields.items()
        if not isinstance(default, Field) or default.compare
    ]
    key: Callable[[object], object] = attrgetter(*compared) if compared else lambda _: ()

    def equal(self: object, other: object) -> bool:
        is_same = type(other) is value_class
        return key(self) == key(other) if is_same else NotImplemented

    methods = {
        "__eq__": equal,
        "__hash__": lambda self: hash(key(self)),
        "__setattr__": _refuse_change,
        "__delattr__": _refuse_change,
    }
    for name, method in methods.items():
        setattr(value_class, name, method)
    return value_class


@dataclass_transform(field_specifiers=(field,))
def slotted(cls: type[T]) -> type[T]:
    """Make a mutable class with slots; instances are compared by identity."""
    return _slotted(cls)[0]


def replace(value: T, /, **changes: object) -> T:
    """Return a copy with some fields changed."""
    fields = {**as_dict(value), **changes}
    return type(value)(**fields)


def as_dict(value: object) -> dict[str, Any]:
    """Return its fields by name; nested values are not converted."""
    names, values = _reader(type(value))  # type: ignore[arg-type]
    return dict(zip(names, values(value), strict=True))


@cache
def _reader(cls: type) -> tuple[tuple[str, ...], Callable[[object], tuple[Any, ...]]]:
    """Return the field names and a function that reads all of them at once: a list of a thousand
    rows reads thirty fields of each."""
    names = tuple(cls.__fields__)  # type: ignore[attr-defined]
    read = attrgetter(*names) if names else lambda _: ()
    return names, read if len(names) != 1 else lambda one: (read(one),)


def _slotted(cls: type[T]) -> tuple[type[T], dict[str, object]]:
    """Create the class again: slots must be given at creation, and defaults must not be class
    attributes then. Fields of the base class come first, but for those it declares `kw_only`."""
    members = dict(vars(cls))
    own = {name: members.pop(name, NOTHING) for name in cls.__annotations__}
    fields = {**getattr(cls.__base__, "__fields__", {}), **own}
    for name in getattr(cls.__base__, "__slots__", ()):
        if isinstance(fields.get(name), Field) and fields[name].kw_only:
            fields[name] = fields.pop(name)
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    members.update(
        __slots__=tuple(own),
        __fields__=fields,
        __match_args__=tuple(fields),
        __init__=_compiling_init,
        __repr__=_repr,
    )
    return type(cls)(cls.__name__, cls.__bases__, members), fields  # type: ignore[misc]


def _compiling_init(self: object, *args: object, **named: object) -> None:
    """Compile `__init__` on the first instantiation, then call it."""
    cls: Any = type(self)
    cls.__init__ = _compiled(cls)
    cls.__init__(self, *args, **named)


def _compiled(cls: type) -> Callable[..., None]:
    names: dict[str, Any] = {"NOTHING": NOTHING}
    parameters = []
    lines = []
    for name, setting in cls.__fields__.items():  # type: ignore[attr-defined]
        names[f"_set_{name}"] = getattr(cls, name).__set__  # including the base class's fields
        stored = name
        is_field = isinstance(setting, Field)
        default = setting.default if is_field else setting
        factory = setting.default_factory if is_field else None
        if factory is not None:
            names[f"_new_{name}"] = factory
            stored = f"_new_{name}() if {name} is NOTHING else {name}"
            parameters.append(f"{name}=NOTHING")
        elif default is NOTHING:
            parameters.append(name)
        else:
            names[f"_default_{name}"] = default
            parameters.append(f"{name}=_default_{name}")
        lines.append(f" _set_{name}(self, {stored})")
    head = f"def __init__({', '.join(['self', *parameters])}):\n"
    exec(head + "\n".join(lines or [" pass"]), names)  # noqa: S102
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _repr(self: object) -> str:
    fields: dict[str, object] = type(self).__fields__  # type: ignore[attr-defined]
    shown = []
    for name, default in fields.items():
        if not isinstance(default, Field) or default.shown:
            shown.append(name)
    return (
        f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"
    )


def _refuse_change(self: object, name: str, *_: object) -> None:
    raise AttributeError(
        f"could not change {name} of {type(self).__name__}: a value stays as it is"
    )
