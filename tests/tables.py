"""Tables of cases: one test goes through all of them and tells of every case that does not hold."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

Test = Callable[..., None]
Ids = Sequence[str] | Callable[[Any], Any] | None
_HERE = str(Path(__file__).parent)


def for_each(names: str | Sequence[str], cases: Iterable[Any], *, ids: Ids = None) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but one test for all cases: where no case needs fixtures of its own.

    All cases are gone through; those that fail are reported together, each with its name, the line
    and the reason. Thousands of items would cost pytest more time than what they check.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = list(cases)
    table = [(_label(row, ids, at), _values(row, len(arguments))) for at, row in enumerate(rows)]

    def decorated(test: Test) -> Test:
        @functools.wraps(test)
        def through_all(**fixtures: Any) -> None:
            assert table, "a table without cases proves nothing"
            wrong = []
            for label, values in table:
                try:
                    test(**fixtures, **dict(zip(arguments, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    wrong.append(f"[{label}] {_reason(error)}")
            if wrong:
                pytest.fail(f"{len(wrong)} of {len(table)} cases:\n" + "\n".join(wrong), pytrace=False)

        signature = inspect.signature(test)
        rest = [given for name, given in signature.parameters.items() if name not in arguments]
        through_all.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return through_all

    return decorated


def _values(row: Any, count: int) -> tuple[Any, ...]:
    """The arguments of one row, which may be a `pytest.param`."""
    values = row.values if hasattr(row, "marks") else row if count > 1 else (row,)
    assert len(values) == count, f"{row!r} has not {count} values"
    return tuple(values)


def _label(row: Any, ids: Ids, at: int) -> str:
    if hasattr(row, "marks") and row.id:
        return str(row.id)
    if callable(ids):
        return str(ids(row))
    return str(ids[at]) if ids else repr(row)[:120]


def _reason(error: BaseException) -> str:
    """Where in a test it failed, and what the assertion says; inner tables keep their own report."""
    frames = traceback.extract_tb(error.__traceback__)
    last = [frame for frame in frames if frame.filename.startswith(_HERE)][-1]
    kind = "" if isinstance(error, (AssertionError, pytest.fail.Exception)) else f"{type(error).__name__}: "
    return f"{Path(last.filename).name}:{last.lineno}: {kind}{error}"
