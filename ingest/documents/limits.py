"""What reading one file may take. Whatever goes beyond ends the reading, or the program."""

from __future__ import annotations

import sys

MAX_CHARS = 2_000_000
"""Text kept of one file; of a longer one the beginning, and it is said so."""

MAX_PAGES = 1_000
MAX_UNPACKED_BYTES = 50_000_000
"""Of one part of a packed document."""

MAX_PIXELS = 50_000_000
MEMORY_BYTES = 1_000_000_000
CPU_S = 20


def apply_limits() -> None:
    """Have the system hold this process to them, where it can (not on Windows).

    The processor's time is also the wall's for who waits (`webapp.core.attaching`).
    """
    if sys.platform == "win32":
        return
    import resource

    # Where memory cannot be bounded (macOS), the other limits hold.
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        bounded = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (bounded, hard))
        except (OSError, ValueError) as error:
            print(f"a limit could not be set: {error}", file=sys.stderr)  # noqa: T201
