"""Observations: what was done in one place within one clock hour, made from frames.

Rules (`ingest.observations.rules`) or a chat model write the text. What a person writes instead is kept
apart in `edits` and wins, whatever is derived again. A hidden observation stays hidden and is
found nowhere. An hour is derived as a whole, and `memory_hours` says which hours have to be:
triggers put every hour there whose frames or texts changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import apsw

from store.core.database import Database, rows, scalar
from store.core.errors import existing
from store.core.translation import N_
from store.frames.frames import captured_ms_of
from store.search.sample import evenly

HOUR_MS = 3_600_000

Source = Literal["rule", "model", "user"]

IMPORTED, PICTURE = N_("Imported picture"), N_("picture")
"""Where a picture that was imported was, and what kind of work it is, as far as anyone knows."""

MODEL_SAYS = "In a model's words: "
"""Opens what a chat model says of an observation, wherever that is told."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A line that stood on a frame; `frame_id` is None where a person wrote it."""

    text: str
    frame_id: int | None


@dataclass(frozen=True, slots=True)
class _Described:
    start_ms: int
    end_ms: int
    active_ms: int
    app_name: str | None
    kind: str
    project: str | None
    title: str
    narrative: str
    facts: tuple[Fact, ...]
    concepts: tuple[str, ...]
    files: tuple[str, ...]
    urls: tuple[str, ...]
    frame_ids: tuple[int, ...]

    @property
    def model_words(self) -> str:
        """What a chat model says of it; "" where none does."""
        return self.narrative.partition(MODEL_SAYS)[2]


@dataclass(frozen=True, slots=True)
class Draft(_Described):
    """An observation as the rules derive it. `fingerprint` changes when its frames or texts do."""

    hour: int
    place: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Observation(_Described):
    """An observation as it is shown: derived, with the person's edits over it. `place` is alike for what was
    done in the same window or site, and tells neither.
    """

    id: int
    place: str
    source: Source
    edited: tuple[str, ...]  # names of the fields a person wrote
    refine_error: str | None
    updated_ms: int


def get(database: Database, observation_id: int) -> Observation:
    """One observation. Raises `NotFound`, also for one that was hidden."""
    return existing(next(iter(get_many(database, [observation_id])), None), "observation", observation_id)


def get_many(database: Database, observation_ids: Iterable[int]) -> list[Observation]:
    """The observations that exist among these ids, in the order of the ids."""
    ids = json.dumps(list(observation_ids))
    with database.read() as connection:
        return load(connection, "json_each(:ids) j cross join observations o on o.id = j.value", {"ids": ids})


def between(database: Database, start_ms: int, end_ms: int, limit: int = 500) -> list[Observation]:
    """The observations that touch ``[start_ms, end_ms)``, by their begin; -1 as `limit` is none."""
    # None is longer than its hour, so none that began earlier reaches into the range.
    with database.read() as connection:
        return load(
            connection,
            "observations o",
            {"first": start_ms - HOUR_MS, "start": start_ms, "end": end_ms, "limit": limit},
            "o.start_ms >= :first and o.start_ms < :end and o.end_ms > :start",
            "order by o.start_ms, o.id limit :limit",
        )


def places(database: Database, start_ms: int, end_ms: int) -> frozenset[str]:
    """The places of what began in ``[start_ms, end_ms)``."""
    told = "select distinct place from observations where start_ms >= ? and start_ms < ?"
    with database.read() as connection:
        return frozenset(place for (place,) in connection.execute(told, (start_ms, end_ms)))


def of_hour(database: Database, hour: int) -> list[Observation]:
    """The observations that were derived from one clock hour, by their begin."""
    with database.read() as connection:
        return load(
            connection, "observations o", {"hour": hour}, "o.hour = :hour", "order by o.start_ms, o.id"
        )


def quoted(database: Database, start_ms: int, end_ms: int, fields: Iterable[str | None]) -> list[Fact]:
    """The lines of some texts that were quoted in ``[start_ms, end_ms)``, with the frames they stand on."""
    seen = between(database, start_ms, end_ms)
    facts = {fact.text: fact for one in seen for fact in one.facts if fact.frame_id is not None}
    lines = dict.fromkeys(line for text in fields if text for line in text.split("\n"))
    return [facts[line] for line in lines if line in facts]


def nearest_days(database: Database, start_ms: int, end_ms: int) -> tuple[int | None, int | None]:
    """When the last observation before a range and the first one after it began."""
    with database.read() as connection:
        earlier = "select max(start_ms) from observations where start_ms < ? and is_hidden = 0"
        later = "select min(start_ms) from observations where start_ms >= ? and is_hidden = 0"
        return scalar(connection, earlier, (start_ms,)), scalar(connection, later, (end_ms,))


def load(
    connection: apsw.Connection,
    source: str,
    parameters: dict[str, Any],
    condition: str = "true",
    tail: str = "",
) -> list[Observation]:
    """Observations that are not hidden, from ``observations o`` and what is joined to it."""
    found = rows(
        connection,
        f"""
        select o.id, o.place, o.start_ms, o.end_ms, o.active_ms, o.app_name, o.kind, o.project, o.title,
            o.narrative, o.source, o.edits, o.refine_error, o.updated_ms,
            (select json_group_array(json_array(text, frame_id) order by n)
                from observation_facts where observation_id = o.id),
            (select json_group_array(json_array(term, value) order by n)
                from observation_terms where observation_id = o.id),
            (select json_group_array(frame_id order by frame_id)
                from observation_frames where observation_id = o.id)
        from {source}
        where o.is_hidden = 0 and {condition}
        {tail}
        """,
        parameters,
    )
    return [_observation(*row) for row in found]


def _observation(
    number: int, place: str, start_ms: int, end_ms: int, active_ms: int, app_name: str | None, kind: str,
    project: str | None, title: str, narrative: str, source: Source, edits: str, refine_error: str | None,
    updated_ms: int, facts: str, terms: str, frame_ids: str,
) -> Observation:  # fmt: skip
    edited: dict[str, Any] = json.loads(edits)
    derived = {text: frame_id for text, frame_id in json.loads(facts)}
    by_term: dict[str, list[str]] = {"concept": [], "file": [], "url": []}
    for term, value in json.loads(terms):
        by_term[term].append(value)
    # A line that a person left as it was still has its frame.
    lines = tuple(Fact(text, derived.get(text)) for text in edited.get("facts", derived))
    return Observation(
        start_ms, end_ms, active_ms, app_name, edited.get("kind", kind),
        edited.get("project", project), edited.get("title", title), edited.get("narrative", narrative),
        lines, tuple(edited.get("concepts", by_term["concept"])), tuple(by_term["file"]),
        tuple(by_term["url"]), tuple(json.loads(frame_ids)), number, place,
        "user" if edited else source, tuple(sorted(edited)), refine_error, updated_ms,
    )  # fmt: skip


def remembered_ms(database: Database) -> int:
    """The time from the first frame to the last."""
    first, last = database.rows("select (select min(id) from frames), (select max(id) from frames)")[0]
    return 0 if first is None else captured_ms_of(last) - captured_ms_of(first)


def spread_texts(database: Database, most: int) -> list[tuple[str | None, str | None, str | None, str]]:
    """(app, window, address, text) of about `most` frames from all over the time that is remembered."""
    # Somebody sleeps: of many moments most lead to the same first frame of a day.
    ids = database.column(
        """
        with bounds as (
            select (select min(id) from frames) as first, (select max(id) from frames) as last
        ),
        moments (n) as (select 0 union all select n + 1 from moments where n < :moments)
        select distinct (
            select id from frames where id >= first + (last - first) / :moments * n order by id limit 1
        ) as id
        from bounds cross join moments
        where first is not null
        """,
        {"moments": 8 * most},
    )
    return database.rows(
        """
        select f.app_name, f.window_name, f.browser_url, r.text
        from json_each(?) j
        join frames f on f.id = j.value
        join readings r on r.frame_id = f.id and r.is_current = 1
        """,
        (json.dumps(evenly(ids, most)),),
    )


# -- hours to be derived ------------------------------------------------------------------
# Which hours of activity are still to be made into observations.
#
# Triggers put an hour on the list when its frames or texts change; it leaves the list in the
# transaction that stores what came of it.


def begun(database: Database, now_ms: int) -> list[int]:
    """The listed hours that have begun, newest first; an hour is its number since 1970 (UTC)."""
    sql = "select hour from memory_hours where hour * :size < :now order by hour desc"
    return database.column(sql, {"size": HOUR_MS, "now": now_ms})


def hour_changes(connection: apsw.Connection, hour: int) -> int | None:
    """How often a listed hour has changed; None when it is not listed."""
    found = scalar(connection, "select changes from memory_hours where hour = ?", (hour,))
    return None if found is None else int(found)


def finish_hour(connection: apsw.Connection, hour: int) -> None:
    """Take an hour off the list."""
    connection.execute("delete from memory_hours where hour = ?", (hour,))
