"""The ledger: every look at the screen and what was decided about it.

Capture counts its looks in batches, apart from the decisions it made, so that the two can be
compared: ``looks = kept + deduped + excluded + paused + failed``. Kept looks are the
frames that carry the batch's id; a frame that was deleted leaves a `kept` row with a count.

`gaps` reads the same ledger the other way round: which stretches have no picture, and why. What
was left out is told by its reason and its duration, never by a name.

Captures that do not become a frame of their own are noted by calls that run inside `database.write()` and may
be repeated: a worker that died between its commit and the spool changes nothing when it starts again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import apsw

from store.core.database import Database, rows, scalar
from store.core.records import insert, insert_new
from store.frames import frames
from store.spool.queue import Capture, DecisionRun, LookReport
from store.timeline import segments
from store.timeline.gaps import LONGEST_RUN_MS


@dataclass(frozen=True, slots=True)
class DecisionCount:
    """How many looks ended in one decision for one reason, and how long those runs lasted."""

    decision: str
    reason: str
    looks: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The equation of the ledger. ``difference`` is 0 unless a look's fate is unknown."""

    looks: int
    kept: int
    deduped: int
    excluded: int
    paused: int
    failed: int

    @property
    def difference(self) -> int:
        return self.looks - self.kept - self.deduped - self.excluded - self.paused - self.failed


# -- writing (inside `database.write()`) --------------------------------------------------


def add_report(connection: apsw.Connection, report: LookReport) -> bool:
    """Enter a batch of looks; True when it is new, False when it had been entered before.

    A deduped run means that a frame was still on the screen: the frame and its activity segment
    reach as far.
    """
    span = {"start_ms": report.start_ms, "end_ms": report.end_ms, "looks": report.looks}
    if not insert_new(connection, "look_batches", id=report.batch_id, **span):
        return False
    for reported in report.runs:
        run = _as_it_is_known(connection, reported)
        add(
            connection, run.decision, run.reason, run.start_ms, run.end_ms,
            monitor=run.monitor, looks=run.looks, batch_id=report.batch_id, host=report.host,
        )  # fmt: skip
        if run.decision == "deduped" and run.capture_id and not _is_deleted(connection, report, run):
            frame_id = frames.extend(connection, run.capture_id, run.end_ms)
            if frame_id is not None:
                segments.extend(connection, frame_id)
    return True


def _is_deleted(connection: apsw.Connection, report: LookReport, run: DecisionRun) -> bool:
    """Whether a deletion took time of a run that another machine tells of late: no frame reaches into it."""
    sql = """
        select 1 from deletions
        where start_ms < ? and end_ms > ? and receipt -> '$.whole' = 'true'
    """
    return report.host != "" and scalar(connection, sql, (run.end_ms + 1, run.start_ms)) is not None


def _as_it_is_known(connection: apsw.Connection, run: DecisionRun) -> DecisionRun:
    """A run that extended a frame which ingest then left out was left out, too."""
    reason = run.capture_id and scalar(connection, _LEFT_OUT, (run.capture_id,))
    if run.decision != "deduped" or not reason:
        return run
    return replace(run, decision="excluded", reason=reason, capture_id=None)


_LEFT_OUT = "select 'ingest_' || reason from ingest_records where capture_id = ? and outcome = 'excluded'"


def add(
    connection: apsw.Connection,
    decision: str,
    reason: str,
    start_ms: int,
    end_ms: int,
    *,
    monitor: str = "",
    looks: int = 1,
    batch_id: str | None = None,
    host: str = "",
) -> None:
    """Enter one run of equal decisions; one longer than `LONGEST_RUN_MS` is kept in pieces.

    Ingest enters one, under the frame's own batch, for a frame that capture kept and ingest did
    not (an exact duplicate, a picture that cannot be read): the equation still holds.
    """
    for at in range(start_ms, max(end_ms, start_ms + 1), LONGEST_RUN_MS):
        insert(
            connection, "decisions", batch_id=batch_id, monitor=monitor, decision=decision, reason=reason,
            start_ms=at, end_ms=min(at + LONGEST_RUN_MS, end_ms), looks=looks if at == start_ms else 0,
            host=host,
        )  # fmt: skip


def daily(database: Database, start_ms: int, end_ms: int) -> list[DecisionCount]:
    """What was decided in ``[start_ms, end_ms)``, most looks first. A run counts where it starts."""
    return database.records(
        DecisionCount,
        """
        with counted as (
            select decision, reason, looks, end_ms - start_ms as duration_ms from decisions
            where start_ms >= :start and start_ms < :end
            union all
            select 'kept', source, 1, 0 from frames
            where id >= :first and id < :after and batch_id is not null
        )
        select decision, reason, sum(looks), sum(duration_ms) from counted
        group by decision, reason order by sum(looks) desc, decision, reason
        """,
        _range(start_ms, end_ms),
    )


def reconcile(database: Database, start_ms: int, end_ms: int) -> Reconciliation:
    """The equation over the batches that start in ``[start_ms, end_ms)``.

    Imports and uploads made no look: each counts as one, and as its own decision. Frames that
    still wait in the spool show as a difference until they are stored.
    """
    with database.read() as connection:
        parameters = _range(start_ms, end_ms)
        looks = scalar(
            connection,
            """
            select
                coalesce((
                    select sum(looks) from look_batches where start_ms >= :start and start_ms < :end
                ), 0)
                + coalesce((
                    select sum(looks) from decisions
                    where start_ms >= :start and start_ms < :end and batch_id is null
                ), 0)
            """,
            parameters,
        )
        counts = dict(rows(connection, _BY_DECISION, parameters))
    return Reconciliation(
        looks, *(counts.get(name, 0) for name in ("kept", "deduped", "excluded", "paused", "failed"))
    )


_BY_DECISION = """
with batches as (select id from look_batches where start_ms >= :start and start_ms < :end),
counted as (
    select d.decision, d.looks from batches b join decisions d on d.batch_id = b.id
    union all
    select 'kept', 1 from batches b join frames f on f.batch_id = b.id
    union all
    select decision, looks from decisions
    where batch_id is null and start_ms >= :start and start_ms < :end
)
select decision, sum(looks) from counted group by decision
"""


def _range(start_ms: int, end_ms: int) -> dict[str, int]:
    first, after = frames.id_range(start_ms, end_ms)
    return {"start": start_ms, "end": end_ms, "first": first, "after": after}


Skipped = Literal["deduplicated", "excluded", "failed"]

_DECISIONS: dict[Skipped, str] = {"deduplicated": "deduped", "excluded": "excluded", "failed": "failed"}
# Ledger reasons of this module, so that a retry finds its own row and never capture's.
PREFIX = "ingest_"


def record_skipped(
    connection: apsw.Connection,
    capture: Capture,
    outcome: Skipped,
    reason: str,
    *,
    frame_id: int | None = None,
    detail: str | None = None,
) -> None:
    """Note that a capture was left out, once: its outcome, and one look in the ledger.

    `reason` is a machine word (``exact``, ``rule:app``, ``bad_picture``); `detail` the sentence
    that GET /ingest/{capture_id} shows instead. `frame_id` is the frame a duplicate equals.
    """
    before = _recorded(connection, capture.capture_id)
    if before not in (None, "failed") or before == outcome:
        return  # what is stored, or deleted while it waited, stays so
    clear_failure(connection, capture)
    frames.record_outcome(
        connection, capture.capture_id, outcome, capture.captured_ms, frame_id, detail or reason
    )
    add(
        connection,
        _DECISIONS[outcome],
        f"{PREFIX}{reason}",
        capture.captured_ms,
        capture.captured_ms,
        monitor=capture.monitor,
        batch_id=capture.batch_id,
    )


def record_deleted(
    connection: apsw.Connection, capture_id: str, captured_ms: int, monitor: str, batch_id: str | None
) -> None:
    """Note that no frame will ever come of a capture; its look stays counted as a kept one."""
    if batch_id is not None and _recorded(connection, capture_id) is None:
        at = captured_ms, captured_ms
        add(connection, "kept", "screen", *at, monitor=monitor, batch_id=batch_id)
    frames.record_outcome(connection, capture_id, "deleted", captured_ms)


def clear_failure(connection: apsw.Connection, capture: Capture) -> None:
    """A capture that had failed is tried again: take its failure out of the ledger."""
    if _recorded(connection, capture.capture_id) != "failed":
        return
    connection.execute(
        """
        delete from decisions
        where id = (
            select min(id) from decisions
            where decision = 'failed' and reason glob :reasons and monitor = :monitor
                and start_ms = :at and end_ms = :at and batch_id is :batch_id
        )
        """,
        {
            "reasons": f"{PREFIX}*",
            "monitor": capture.monitor,
            "at": capture.captured_ms,
            "batch_id": capture.batch_id,
        },
    )
    connection.execute("delete from ingest_records where capture_id = ?", (capture.capture_id,))


def _recorded(connection: apsw.Connection, capture_id: str) -> str | None:
    found = scalar(connection, "select outcome from ingest_records where capture_id = ?", (capture_id,))
    return None if found is None else str(found)
