"""The registry names engines without importing them."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from engines import registry
from engines.registry import DuplicateName, Registry, UnknownName


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """What other packages offer; tests append to it."""
    points: list[EntryPoint] = []

    def offered(*, group: str) -> EntryPoints:
        return EntryPoints(point for point in points if point.group == group)

    monkeypatch.setattr(registry.metadata, "entry_points", offered)
    return points


def shapes() -> Registry[object]:
    return Registry("shape", "test.shapes", {"path": "pathlib:PurePath", "joined": "os:path.join"})


def test_a_name_opens_what_it_stands_for() -> None:
    import os
    from pathlib import PurePath

    assert shapes().opener("path") is PurePath
    assert shapes().opener("joined") is os.path.join


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(UnknownName, match="unknown shape 'cube'; known: path, joined"):
        shapes().opener("cube")


def test_another_package_adds_an_engine(entry_points: list[EntryPoint]) -> None:
    entry_points.append(EntryPoint("fraction", "fractions:Fraction", "test.shapes"))
    entry_points.append(EntryPoint("elsewhere", "fractions:Fraction", "test.others"))
    assert shapes().names() == ("path", "joined", "fraction")
    assert shapes().opener("fraction")(1, 2) == 0.5


def test_a_name_taken_twice_is_refused(entry_points: list[EntryPoint]) -> None:
    entry_points.append(EntryPoint("path", "fractions:Fraction", "test.shapes"))
    with pytest.raises(DuplicateName, match="'path' is registered twice: pathlib:PurePath and fractions"):
        shapes().opener("joined")


def test_importing_the_ocr_module_loads_no_engine() -> None:  # INS-2
    code = (
        "import sys, engines.ocr.protocol, ingest.reading.reader; "
        "heavy = {'tesserocr', 'pytesseract', 'rapidocr', 'onnxruntime', 'cv2'}; "
        "print(*sorted(heavy & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
