"""How much memory this process really uses."""

from __future__ import annotations

import sys
from pathlib import Path

_ROLLUP = Path("/proc/self/smaps_rollup")


def used_bytes() -> int | None:
    """Proportional resident memory plus swap (HEA-4), or the peak where only that is known.

    None where the system does not say (Windows).
    """
    try:
        lines = _ROLLUP.read_text().splitlines()
    except OSError:
        return _peak_bytes()
    parts = (line.split() for line in lines)
    return sum(int(part[1]) * 1024 for part in parts if part[0] in ("Pss:", "Swap:"))


def _peak_bytes() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
