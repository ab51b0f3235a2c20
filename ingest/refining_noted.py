"""One observation refined: its texts read, the request noted before it leaves, its outcome after.

Where something is deleted between the reading and the sending, nothing is sent.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from engines.chat import Completion, ModelError
from ingest import refining
from ingest.refining import Refined
from ingest.refining_model import Endpoint, Refiner
from store import memory_hours, readings
from store.database import Database
from store.frames import ID_STEP
from store.observations import Observation
from store.sent import cost_of
from store.sent_noting import About, Noting


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
    with database.read() as connection:
        deletion = memory_hours.last_deletion(connection)

    def still(connection: apsw.Connection) -> bool:
        return memory_hours.last_deletion(connection) == deletion

    noting = Noting(database, clock, _about(refiner.endpoint, observation), still)
    texts = _texts(database, observation)
    try:
        answer = refining.ask(refiner.model, observation, texts, timeout_s, noting)
        better = refining.checked(answer.text, texts)
    except ModelError as error:
        noting.finish(error.code)
        raise
    _finish(noting, refiner.endpoint, answer)
    return better


def _about(endpoint: Endpoint, observation: Observation) -> About:
    taken = [frame_id // ID_STEP for frame_id in observation.frame_ids]
    return About(
        "refine",
        endpoint.name,
        endpoint.model,
        first_ms=min([observation.start_ms, *taken]),
        last_ms=max([observation.end_ms, *taken]),
    )


def _texts(database: Database, observation: Observation) -> dict[int, str]:
    found = {number: readings.current(database, number) for number in observation.frame_ids}
    return {number: reading.text for number, reading in found.items() if reading is not None}


def _finish(noting: Noting, endpoint: Endpoint, answer: Completion) -> None:
    """Tokens only as the endpoint counted them: nobody waits for an estimate here."""
    if answer.usage is None:
        noting.finish("answered")
        return
    read, written = answer.usage.input_tokens, answer.usage.output_tokens
    cost = cost_of(read, written, endpoint.input_price, endpoint.output_price)
    noting.finish("answered", read, written, cost=cost, currency="" if cost is None else endpoint.currency)
