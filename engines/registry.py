"""A small registry: engines by name, imported only when they are opened.

Built-ins are written as ``"module:attribute"``; other packages add theirs with an entry point in
the registry's group. What is registered is an *opener*: a callable that makes the engine from its
arguments. Nothing is imported by naming it, so a list of engines costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module, metadata
from operator import attrgetter
from typing import Generic, TypeVar, cast

T = TypeVar("T")


class UnknownName(LookupError):
    """Nothing is registered under this name; the message lists what is."""


class DuplicateName(ValueError):
    """Two parties registered the same name; neither silently wins."""


class Registry(Generic[T]):
    """Openers of engines of one kind.

    `kind` names them in messages ("OCR engine"), `group` is the entry-point group, `builtins` maps
    a name to ``"module:attribute"``.
    """

    def __init__(self, kind: str, group: str, builtins: Mapping[str, str]) -> None:
        self.kind = kind
        self.group = group
        self._builtins = dict(builtins)

    def names(self) -> tuple[str, ...]:
        """Every known name: built-ins in their order, then third parties by name.

        Raises `DuplicateName` when a third party takes a name that exists.
        """
        return tuple(self._targets())

    def opener(self, name: str) -> Callable[..., T]:
        """The callable that makes the engine called `name`; imports its module.

        Raises `UnknownName`, `DuplicateName`, and whatever the import raises.
        """
        targets = self._targets()
        if name not in targets:
            raise UnknownName(f"unknown {self.kind} {name!r}; known: {', '.join(targets)}")
        module, _, attribute = targets[name].partition(":")
        return cast("Callable[..., T]", attrgetter(attribute)(import_module(module)))

    def _targets(self) -> dict[str, str]:
        targets = dict(self._builtins)
        for point in sorted(metadata.entry_points(group=self.group), key=lambda point: point.name):
            if point.name in targets:
                raise DuplicateName(
                    f"{self.kind} {point.name!r} is registered twice: {targets[point.name]} and {point.value}"
                )
            targets[point.name] = point.value
        return targets
