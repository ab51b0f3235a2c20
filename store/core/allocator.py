"""What glibc keeps of memory that was freed, and how often Python looks for more."""

from __future__ import annotations

import ctypes
import gc
import sys

_FEW_ARENAS = {-8: 2}
_AT_ONCE = {-1: 1 << 20, -3: 1 << 20}
"""Of malloc.h: M_ARENA_MAX; M_TRIM_THRESHOLD and M_MMAP_THRESHOLD in bytes."""


def give_back_freed_memory(*, at_once: bool = True) -> None:
    """Pictures of megabytes come and go, and threads: glibc would keep their pages, for many threads in many
    places, a quarter of what is held. To be called before there are threads. Who takes as much again soon
    keeps it, in few places, and calls `trim_freed_memory` at rest.
    """
    for parameter, value in (_FEW_ARENAS | (_AT_ONCE if at_once else {})).items():
        _call("mallopt", parameter, value)


def collect_rarely() -> None:
    """An answer about a day of 16,000 stretches makes three objects of each, and lets go of them by itself.
    To look for circles after every 700, at last among all there are, took half of its time, and every other
    answer waited.
    """
    gc.set_threshold(50_000)


def trim_freed_memory() -> None:
    """Once, also what lies between pages that are in use."""
    _call("malloc_trim", 0)


def rest(engine: object) -> bool:
    """Have an engine that can do so let go of what it has not used for minutes; whether it did."""
    let_go = getattr(engine, "rest", None)
    is_let_go = bool(let_go and let_go())
    if is_let_go:
        gc.collect()
        trim_freed_memory()
    return is_let_go


def _call(function: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(libc, function):  # another library than glibc has its own ways
        getattr(libc, function)(*arguments)
