"""What plain records have in common: equal where all their fields are, never changed, printed with what they hold.

Not a struct of msgspec: compiled code reads a field of its own class ten times faster, and makes one in half the time.
A record lists the `names` of its fields in the order of its constructor, which sets each `Final`: `__slots__` are the
same, and are lost where it is compiled. msgspec's encoders
take `mapping_of` or `array_of` as their hook, its decoders `value_of`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .compiled import mypyc_attr

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Value", "array_of", "mapping_of", "value_of"]


@mypyc_attr(acyclic=True)
class Value:
    """Base of records without content that are compared, copied and kept."""

    names: ClassVar[tuple[str, ...]] = ()
    """Of the fields, in the order of the constructor."""
    __slots__ = ()

    def fields(self) -> tuple[object, ...]:
        """All fields in the order of the constructor."""
        return tuple([getattr(self, name) for name in self.names])

    def changed(self, **changes: Any) -> Self:  # noqa: ANN401 - whatever the fields hold
        """The same with some fields as they are named here."""
        return type(self)(**(dict(zip(self.names, self.fields(), strict=True)) | changes))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and type(other) is type(self) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash(self.fields())

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.fields()!r}"

    def __reduce__(self) -> tuple[type[Value], tuple[object, ...]]:
        return type(self), self.fields()


def mapping_of(value: object) -> dict[str, object]:
    """A record's fields by name. Raises `TypeError` for anything else."""
    if not isinstance(value, Value):
        raise TypeError(f"a {type(value).__name__} is no record")
    return dict(zip(value.names, value.fields(), strict=True))


def array_of(value: object) -> tuple[object, ...]:
    """A record's fields in order. Raises `TypeError` for anything else."""
    if not isinstance(value, Value):
        raise TypeError(f"a {type(value).__name__} is no record")
    return value.fields()


def value_of(kind: type[Any], fields: object) -> object:
    """The record of a kind that a mapping or an array was made of. Raises `TypeError` where they are none."""
    if isinstance(fields, dict):
        return kind(**{name: _hashable(field) for name, field in fields.items()})
    if isinstance(fields, (list, tuple)):
        return kind(*map(_hashable, fields))
    raise TypeError(f"no fields of a {kind.__name__}")


def _hashable(field: object) -> object:
    return tuple(field) if isinstance(field, list) else field
