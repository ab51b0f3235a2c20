"""Runs the tests of this folder with the build of SQLite that encrypts: a process has one SQLite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

BUILD = Path(sys.prefix, "test-sqlite3mc")


@pytest.mark.skipif(hasattr(apsw, "mc_version"), reason="it is this process")
@pytest.mark.skipif(not BUILD.is_dir(), reason="`make test` installs the build of SQLite that encrypts")
def test_with_the_build_of_sqlite_that_encrypts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-rs", f"--basetemp={tmp_path / 'inner'}"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, str(Path(__file__).parent)],
        cwd=Path(__file__).parents[3],
        env={**own, "PYTHONPATH": str(BUILD)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
