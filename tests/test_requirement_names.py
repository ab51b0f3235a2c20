"""Every requirement of R0, R1 and R2 that a test can decide has a test that says its number.

The name of a test carries the numbers: ``test_r0_26_r0_27_an_append_turn_…`` or ``test_r0_6_to_r0_13_…``.
Those of R2 may stand in its docstring instead, or behind its first line: ``R2.55, R2.56.``
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_NUMBERS = re.compile(r"r([01])_(\d+)(?:_to_r\1_(\d+))?(?=_|$)")
_TOLD = re.compile(r"\bR2\.(\d+)\b(?:(?: to |-)R2\.(\d+)\b)?|r2_(\d+)(?:_to_r2_(\d+))?")
_NO_TEST_OF_R2 = {
    59: "a walk-through with real models",
    60: "later",
    63: "no shell tool is planned; R2.45 has the test that none is there",
}


def _named(chapter: int) -> set[int]:
    """The numbers of R0 or R1 that names of tests carry."""
    found: set[int] = set()
    for name in _test_names():
        for of, first, last in _NUMBERS.findall(name):
            if int(of) == chapter:
                found |= set(range(int(first), int(last or first) + 1))
    return found


def _test_names() -> Iterator[str]:
    for path in sorted(Path(__file__).parent.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node.name


def test_every_item_of_r0_has_a_test_named_after_it() -> None:
    assert set(range(1, 72)) - _named(0) == set()


def test_every_item_of_r1_has_a_test_named_after_it() -> None:
    assert set(range(1, 51)) - _named(1) == set()


def _told() -> set[int]:
    """Numbers of R2 that tests say, in their names, docstrings or the comments behind their first lines."""
    found: set[int] = set()
    for path in sorted(Path(__file__).parent.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            head = "\n".join(lines[node.lineno - 1 : node.body[0].lineno - 1])
            for told in _TOLD.finditer(f"{node.name}\n{ast.get_docstring(node) or ''}\n{head}"):
                first, last = told[1] or told[3], told[2] or told[4]
                found |= set(range(int(first), int(last or first) + 1))
    return found


def test_every_item_of_r2_has_a_test_that_says_its_number() -> None:
    told = _told()
    assert [number for number in range(1, 67) if number not in told and number not in _NO_TEST_OF_R2] == []
    assert not _NO_TEST_OF_R2.keys() & told, "it has one by now"
