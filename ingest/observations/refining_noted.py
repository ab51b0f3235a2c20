"""What was seen in a model's words: texts read, the request noted before it leaves, its outcome after.

Where something is deleted between the reading and the sending, nothing is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import apsw

from engines.chat.protocol import (
    Completion,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnreachable,
    RequestHook,
)
from ingest.observations import refinement
from ingest.observations.refinement import Refined
from ingest.observations.refinement_models import Endpoint, Refiner
from store.core.database import Database
from store.egress.egress_log import EgressRecorder, RequestContext, cost_of
from store.frames.frames import captured_ms_of
from store.memory import observations
from store.memory.observations import Observation
from store.ocr import readings

NOT_ITS_FAULT = (ModelUnreachable, ModelTimeout, ModelRateLimited, ModelUnauthorized)
"""What says nothing about the text that was sent: then the model is left alone for a while."""

T = TypeVar("T")


def refine(
    database: Database,
    clock: Callable[[], int],
    refiner: Refiner,
    observation: Observation,
    timeout_s: float,
) -> Refined:
    """The observation in the model's words.

    Raises `ModelError`, also for an answer that is none; `StoreError` where nothing may be sent.
    """
    since = observations.now_deleted(database)
    texts = texts_of(database, observation.frame_ids)
    taken = [captured_ms_of(frame_id) for frame_id in observation.frame_ids]
    return recorded_request(
        database,
        clock,
        refiner.endpoint,
        (min([observation.start_ms, *taken]), max([observation.end_ms, *taken])),
        since,
        lambda on_send: refinement.ask(refiner.model, observation, texts, timeout_s, on_send),
        lambda answer: refinement.checked_refinement(answer, texts),
    )


def recorded_request(
    database: Database,
    clock: Callable[[], int],
    endpoint: Endpoint,
    shown_ms: tuple[int, int],
    since: int | None,
    ask: Callable[[RequestHook], Completion],
    check: Callable[[str], T],
) -> T:
    """What `check` makes of the answer to `ask`, which is noted as showing screens of `shown_ms`.

    `since` is what `memory_hours.now_deleted` said before anything was read; where more is deleted until the
    request leaves, it does not. Raises as `refine`.
    """

    def still(connection: apsw.Connection) -> bool:
        return observations.last_deletion(connection) == since

    first_ms, last_ms = shown_ms
    about = RequestContext("refine", endpoint.name, endpoint.model, first_ms=first_ms, last_ms=last_ms)
    noting = EgressRecorder(database, clock, about, still)
    try:
        answer = ask(noting)
        found = check(answer.text)
    except ModelError as error:
        noting.finish(error.code)
        raise
    _finish(noting, endpoint, answer)
    return found


def texts_of(database: Database, frame_ids: Iterable[int]) -> dict[int, str]:
    """The texts of the frames that were read."""
    found = {number: readings.current_reading(database, number) for number in frame_ids}
    return {number: reading.text for number, reading in found.items() if reading is not None}


def _finish(noting: EgressRecorder, endpoint: Endpoint, answer: Completion) -> None:
    """Tokens only as the endpoint counted them: nobody waits for an estimate here."""
    if answer.usage is None:
        noting.finish("answered")
        return
    read, written = answer.usage.input_tokens, answer.usage.output_tokens
    cost = cost_of(read, written, endpoint.input_price, endpoint.output_price)
    noting.finish("answered", read, written, cost=cost, currency="" if cost is None else endpoint.currency)
