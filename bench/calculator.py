"""The calculator's worst: time and memory of expressions made to take long, each by itself."""

from __future__ import annotations

import random
import time
import tracemalloc

from assistant.tools.general import MAX_CHARS, calculate
from assistant.tools.tool import ToolFailed
from bench.report import Report

ROUNDS = 20_000
_PIECES = (
    "9**", "9" * 40, "factorial(500)", "2**4095", "(", ")", "*", "+", "-", "/", "//", "%", "sqrt(", "1e308",
    "round(", ",", "max(", "7**3", "0x", "f" * 30, " ", "1_0", "log(", "**", "-400", "'a'", "__import__",
)  # fmt: skip


def main(report: Report) -> None:
    """Print the slowest and the largest of many made-up expressions."""
    rng = random.Random(20_261_120)
    made = ["".join(rng.choices(_PIECES, k=rng.randint(1, 40)))[: MAX_CHARS + 1] for _ in range(ROUNDS)]
    slowest, answered = 0.0, 0
    for expression in made:
        began = time.perf_counter()
        answered += _is_answered(expression)
        slowest = max(slowest, time.perf_counter() - began)
    largest = 0
    for expression in made[:: ROUNDS // 1_000]:
        tracemalloc.start()
        _is_answered(expression)
        largest = max(largest, tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    report.line(f"{ROUNDS:,} expressions, {answered:,} with a value")
    report.line(f"the slowest took {slowest * 1000:.2f} ms (1,000 allowed)")
    report.line(f"the largest of 1,000 took {largest / 1e6:.2f} MB (50 allowed)")


def _is_answered(expression: str) -> bool:
    try:
        calculate(expression)
    except ToolFailed:
        return False
    return True
