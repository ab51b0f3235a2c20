"""The sample week's ground truth: who did what when, as data beside its frames.

``sample-week.json`` in the home folder marks a home that `recollect demo` filled, and says what is
true of it: the scenes with the lines that were drawn on each picture, the facts planted in them,
the stretches that were left out and why, and questions whose answers are known. Nothing here was
read from a picture: it is what reading and answers are judged by. Times are epoch milliseconds,
ranges half-open.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from store.core.database import Database
from store.core.errors import StoreError
from store.core.paths import DataDir, replace_file
from store.frames.frames import ID_STEP

SOURCE = "demo"
"""`frames.source` of every frame of a sample week, and of no other."""

FORMAT = 1

FactKind = Literal["figure", "date", "name", "url", "words"]
QuestionKind = Literal["facts", "gap", "not_found"]


@dataclass(frozen=True, slots=True)
class SampleFrame:
    """One picture: `lines` are what was drawn on it, top to bottom."""

    capture_id: str
    captured_ms: int
    ended_ms: int
    lines: tuple[str, ...]

    @property
    def frame_id(self) -> int:
        """Its id in `frames`: the week never has two frames in one millisecond."""
        return self.captured_ms * ID_STEP


@dataclass(frozen=True, slots=True)
class Fact:
    """Words that stand in one line on the screen, who wrote or did it, and in which scene."""

    id: str
    kind: FactKind
    text: str
    who: str
    language: str


@dataclass(frozen=True, slots=True)
class Scene:
    """One stretch in one window; `activity` says in one sentence what the person did."""

    id: str
    start_ms: int
    end_ms: int
    app_name: str
    window_name: str
    browser_url: str | None
    project: str
    activity: str
    language: str
    facts: tuple[Fact, ...]
    frames: tuple[SampleFrame, ...]

    def showing(self, text: str) -> tuple[SampleFrame, ...]:
        """The pictures on which a line holds `text`."""
        return tuple(frame for frame in self.frames if any(text in line for line in frame.lines))


@dataclass(frozen=True, slots=True)
class Absence:
    """A stretch without pictures. `reason` as in `store.timeline.gaps.Gap`."""

    start_ms: int
    end_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question whose answer is known.

    ``facts``: the answer cites frames of `scenes` and gives the texts of `expects`. ``gap``: nothing
    was recorded, for `reason`. ``not_found``: frames exist, but what is asked for stands on none.
    """

    id: str
    kind: QuestionKind
    message: str
    language: str
    start_ms: int
    end_ms: int
    scenes: tuple[str, ...] = ()
    expects: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SampleWeek:
    """A sample week. Made again with the same `made_with`, it is the same to the last pixel on the
    same fonts. Until every frame was drawn `is_complete` is False and there are no scenes.
    """

    made_with: dict[str, Any]
    timezone: str
    languages: tuple[str, ...]
    start_ms: int
    end_ms: int
    is_complete: bool = False
    scenes: tuple[Scene, ...] = field(default=())
    absences: tuple[Absence, ...] = field(default=())
    questions: tuple[Question, ...] = field(default=())

    def scene(self, scene_id: str) -> Scene:
        return next(scene for scene in self.scenes if scene.id == scene_id)

    @property
    def frames(self) -> tuple[SampleFrame, ...]:
        return tuple(frame for scene in self.scenes for frame in scene.frames)


def is_sample(data_dir: DataDir) -> bool:
    """Whether this home folder holds a sample week, and so must never hold anything else."""
    return data_dir.sample_week.exists()


def read(data_dir: DataDir) -> SampleWeek | None:
    """The ground truth of this home folder, None when it has none. Raises `StoreError`."""
    try:
        document = json.loads(data_dir.sample_week.read_bytes())
        if document.pop("format") != FORMAT:
            raise ValueError("another format")
        document["languages"] = tuple(document["languages"])
        document["scenes"] = tuple(_scene(scene) for scene in document["scenes"])
        document["absences"] = tuple(Absence(**absence) for absence in document["absences"])
        document["questions"] = tuple(
            Question(**_with_tuples(question, ("scenes", "expects"))) for question in document["questions"]
        )
        return SampleWeek(**document)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{data_dir.sample_week.name} cannot be read: {error}") from error


def write(data_dir: DataDir, week: SampleWeek) -> None:
    """Put the ground truth beside the frames, whole or not at all."""
    document = {"format": FORMAT, **asdict(week)}
    replace_file(data_dir.sample_week, json.dumps(document, ensure_ascii=False, indent=1).encode())


def stranger(database: Database) -> str | None:
    """The source of some frame that is not the sample week's, None when there is none."""
    found: str | None = database.scalar(
        "select source from frames where source <> ? order by id limit 1", (SOURCE,)
    )
    return found


def _scene(document: dict[str, Any]) -> Scene:
    frames = tuple(SampleFrame(**_with_tuples(frame, ("lines",))) for frame in document["frames"])
    facts = tuple(Fact(**fact) for fact in document["facts"])
    return Scene(**{**document, "frames": frames, "facts": facts})


def _with_tuples(document: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {**document, **{name: tuple(document[name]) for name in names}}
