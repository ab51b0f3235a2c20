"""``make bench``: every figure beside the physical limit, measured in one run.

Each module in this folder with a ``main(report)`` is one measurement. These machines are noisy:
read the ratios, and compare before and after within one run.

    python -m bench              all
    python -m bench web reading  some
    python -m bench questions FOLDER...  over sets of other folders than ``bench/sets``

One that takes long (``ON_REQUEST``) runs only when it is named.
"""

from __future__ import annotations

import importlib
import pkgutil
import platform
import sys
from pathlib import Path

import bench
from bench.report import SETS, Report

NAMES = (
    "open", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth",
    "sealed", "sealed_second", "sealed_third", "sealed_fourth", "sealed_fifth", "sealed_seventh",
    "sealed_eighth", "sealed_ninth", "languages",
)  # fmt: skip


def main(arguments: list[str]) -> int:
    folders = [Path(argument) for argument in arguments if Path(argument).is_dir() and "/" in argument]
    wanted = [argument for argument in arguments if Path(argument) not in folders]
    names = [m.name for m in pkgutil.iter_modules(bench.__path__) if not m.name.startswith("_")]
    measurements = [name for name in names if name not in ("report",)]
    unknown = set(wanted) - set(measurements)
    if unknown:
        sys.stderr.write(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(measurements)}\n")
        return 2
    report = Report(sys.stdout, folders or [SETS / name for name in NAMES])
    report.line(f"{platform.machine()}, Python {platform.python_version()}")
    for name in wanted or measurements:
        module = importlib.import_module(f"bench.{name}")
        if hasattr(module, "main") and (wanted or not getattr(module, "ON_REQUEST", False)):
            report.section(name, (module.__doc__ or "").strip().splitlines()[0])
            module.main(report)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
