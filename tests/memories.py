"""Plain functions that put entries of memory into the store, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from store.core.database import Database, scalar
from store.memory import documents, observation_writer
from store.memory.observations import HOUR_MS, Draft, Fact
from tests.factories import NOON_MS

_count = iter(range(1, 10**9))


def draft(
    *,
    start_ms: int = NOON_MS,
    place: str | None = None,
    active_ms: int = 600_000,
    app_name: str | None = "Code",
    kind: str = "coding",
    project: str | None = None,
    title: str = "Work on something",
    narrative: str = "Ten minutes in Code.",
    facts: Sequence[tuple[str, int | None]] = (),
    concepts: Sequence[str] = (),
    files: Sequence[str] = (),
    urls: Sequence[str] = (),
    frame_ids: Sequence[int] = (),
    fingerprint: str = "first",
) -> Draft:
    """An observation as the rules might derive it; every one has a place of its own."""
    return Draft(
        hour=start_ms // HOUR_MS,
        place=f"place {next(_count)}" if place is None else place,
        start_ms=start_ms,
        end_ms=start_ms + active_ms,
        active_ms=active_ms,
        app_name=app_name,
        kind=kind,
        project=project,
        title=title,
        narrative=narrative,
        facts=tuple(Fact(*fact) for fact in facts),
        concepts=tuple(concepts),
        files=tuple(files),
        urls=tuple(urls),
        frame_ids=tuple(frame_ids),
        fingerprint=fingerprint,
    )


def put_observation(database: Database, **changes: object) -> int:
    """An observation beside those there are; returns its id."""
    made = draft(**changes)  # type: ignore[arg-type]
    with database.write() as connection:
        observation_writer.put(connection, made, made.start_ms)
        return int(
            scalar(
                connection,
                "select id from observations where hour = ? and place = ?",
                (made.hour, observation_writer.key(made.place)),
            )
        )


def put_session(
    database: Database, start_ms: int = NOON_MS, duration_ms: int = 60_000, **fields: str | None
) -> int:
    """A session summary with these fields; returns its id."""
    project = fields.pop("project", None)
    with database.write() as connection:
        return documents.put_session(connection, start_ms, start_ms + duration_ms, fields, project, start_ms)
