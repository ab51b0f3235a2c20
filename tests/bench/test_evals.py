"""The evaluations as a person runs them: known questions of a sample week."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench.evals.__main__ import evals as commands
from store.core.database import open_database
from store.core.paths import DataDir
from store.deletion.deletion import delete_range
from store.frames.media import Media
from tests.demo_week import DemoHome
from webapp.cli import run

pytestmark = pytest.mark.end_to_end


class Evals:
    """Runs `python -m bench.evals` in this process on one home folder."""

    def __init__(self, data_dir: DataDir, capsys: pytest.CaptureFixture[str]) -> None:
        self.data_dir = data_dir
        self.capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """(exit code, stdout, stderr)."""
        self.capsys.readouterr()
        code = run([*arguments, "--home", str(self.data_dir.home)], commands)
        out, err = self.capsys.readouterr()
        return code, out, err

    def json(self, *arguments: str) -> Any:
        code, out, err = self(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)


@pytest.fixture
def evals(data_dir: DataDir, capsys: pytest.CaptureFixture[str]) -> Evals:
    return Evals(data_dir, capsys)


def test_check_answers_reports_figures_and_what_got_worse(
    demo_copy: DemoHome, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    evals = Evals(demo_copy.data_dir, capsys)
    printed = evals.json("check-answers")
    assert printed["figures"]["right"]["of"] == len(demo_copy.week.questions)
    code, out, err = evals("check-answers")
    assert (code, err) == (0, "")
    assert re.search(r"^groundedness +\d+\.\d%", out, re.MULTILINE)
    (tmp_path / "before.json").write_text(json.dumps(printed))
    assert evals("check-answers", "--against", str(tmp_path / "before.json"))[0] == 0
    worse = {one["id"] for one in printed["answers"] if one["is_right"] and one["kind"] == "facts"}
    _delete_every_frame(demo_copy)
    code, _, err = evals("check-answers", "--against", str(tmp_path / "before.json"))
    assert code == 1
    assert f"{len(worse)} answers were right before and are not now" in err
    assert all(name in err for name in worse)
    (tmp_path / "before.json").write_text("[]")
    assert evals("check-answers", "--against", str(tmp_path / "before.json"))[0] == 1


def _delete_every_frame(home: DemoHome) -> None:
    database = open_database(home.data_dir)
    delete_range(database, Media(home.data_dir.media), home.week.start_ms, home.week.end_ms + 1)
    database.close_thread()


def test_check_answers_says_where_questions_come_from(evals: Evals) -> None:
    code, _, err = evals("check-answers")
    assert code == 1
    assert "nothing to check here" in err
