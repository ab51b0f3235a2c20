"""Control of the recording, and the ledger of what was decided at every look."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from store.core.times import to_seconds
from store.timeline import ledger as decisions
from webapp.api.endpoint import endpoint
from webapp.api.timeline import range_ms
from webapp.api.values import Answer, RangeQuery, Request
from webapp.core.services import services
from webapp.ops import recording

_MAX_MINUTES = 525_600


class PauseRequest(Request):
    minutes: Annotated[float, Field(gt=0, le=_MAX_MINUTES, allow_inf_nan=False)] | None = Field(
        None, description="How long; until resumed when missing."
    )


class PauseAnswer(Answer):
    state: Literal["paused", "resumed"]
    since: float | None = None
    until: float | None = Field(default=None, description="Epoch seconds; null while it lasts until resumed.")


@endpoint(
    "POST",
    "/capture/pause",
    "Stop recording",
    body=PauseRequest,
    body_required=False,
    answer=PauseAnswer,
)
def pause(body: PauseRequest) -> PauseAnswer:
    """Stop recording for some minutes or until resumed. Survives a restart."""
    own = services()
    order = recording.pause(own.data_dir, body.minutes, own.clock())
    return PauseAnswer(
        state="paused",
        since=to_seconds(order.since_ms),
        until=None if order.until_ms is None else to_seconds(order.until_ms),
    )


@endpoint("POST", "/capture/resume", "Go on recording", answer=PauseAnswer)
def resume() -> PauseAnswer:
    """End a pause, whoever ordered it."""
    recording.resume(services().data_dir)
    return PauseAnswer(state="resumed")


class DecisionAnswer(Answer):
    decision: Literal["kept", "deduped", "excluded", "paused", "failed"]
    reason: str
    looks: int
    minutes: float


class ReconciliationAnswer(Answer):
    """looks = kept + deduped + excluded + paused + failed + difference."""

    looks: int
    kept: int
    deduped: int
    excluded: int
    paused: int
    failed: int
    difference: int = Field(description="0 unless frames still wait in the spool or a look was lost.")


class DecisionsAnswer(Answer):
    start_time: float
    end_time: float
    decisions: list[DecisionAnswer]
    reconciliation: ReconciliationAnswer


@endpoint(
    "GET", "/capture/decisions", "What was decided at every look", query=RangeQuery, answer=DecisionsAnswer
)
def ledger(query: RangeQuery) -> DecisionsAnswer:
    """Looks by decision and reason; never the name of anything that was left out."""
    start_ms, end_ms = range_ms(query)
    database = services().database
    return DecisionsAnswer(
        start_time=to_seconds(start_ms),
        end_time=to_seconds(end_ms),
        decisions=[
            DecisionAnswer(
                decision=count.decision,  # type: ignore[arg-type]  # the table's check constraint
                reason=count.reason,
                looks=count.looks,
                minutes=count.duration_ms / 60_000,
            )
            for count in decisions.daily(database, start_ms, end_ms)
        ],
        reconciliation=ReconciliationAnswer.model_validate(decisions.reconcile(database, start_ms, end_ms)),
    )
