"""What glibc keeps of memory that was freed."""

from __future__ import annotations

import ctypes
import sys

_MALLOPT = {-1: 1 << 20, -3: 1 << 20, -8: 2}
"""Of malloc.h: M_TRIM_THRESHOLD and M_MMAP_THRESHOLD in bytes, M_ARENA_MAX."""


def give_back_freed_memory() -> None:
    """Pictures of megabytes come and go, and threads: glibc would keep their pages, for many threads in many
    places, a quarter of what is held. To be called before there are threads.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # another library than glibc has its own ways
        for parameter, value in _MALLOPT.items():
            libc.mallopt(parameter, value)
