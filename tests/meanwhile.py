"""What happens between two steps: a seam in a function that is called there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest


def meanwhile(
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
    act: Callable[[], object],
    *,
    is_before: bool = False,
) -> None:
    """Let `act` happen once, when `owner.name` is called next: after it, or before it."""
    real = getattr(owner, name)

    def stepped(*given: Any, **options: Any) -> Any:
        monkeypatch.setattr(owner, name, real)
        if is_before:
            act()
        result = real(*given, **options)
        if not is_before:
            act()
        return result

    monkeypatch.setattr(owner, name, stepped)


class Beside:
    """Another thread that does `act` when this is called, and is waited for unless it `is_kept_out`."""

    def __init__(self, act: Callable[[], object], is_kept_out: Callable[[], bool] = lambda: False) -> None:
        self._thread = threading.Thread(target=act)
        self._is_kept_out = is_kept_out

    def __call__(self) -> None:
        self._thread.start()
        if not self._is_kept_out():
            self._thread.join()

    def join(self) -> None:
        self._thread.join()
