"""What a person said about answers: this source is wrong, that answer is right.

Reported turns are the person's own regression set (`python -m bench.evals check-answers`). A report points at
a turn and one of its citations and holds no words but the person's note: what was asked, answered
and cited stays in the turn, goes with its chat, and loses its frame with the frame's deletion.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import apsw

from store.chats.records import StoredEvidence
from store.core.database import Database, scalar
from store.core.records import put

MAX_NOTE_CHARS = 500

WHOLE_ANSWER = 0
"""`Report.n` of a verdict on the answer itself; its citations count from 1."""

Verdict = Literal["right", "wrong"]


@dataclass(frozen=True, slots=True)
class Report:
    """A verdict on citation `n` of a turn. `frame_id` is None for `WHOLE_ANSWER`, and once the frame
    was deleted.
    """

    n: int
    verdict: Verdict
    note: str
    reported_ms: int
    frame_id: int | None


def report(
    database: Database, chat_id: int, turn: int, n: int, verdict: Verdict, note: str, now_ms: int
) -> bool:
    """Enter a verdict, in place of an earlier one on the same citation.

    False when the chat has no such turn, the turn is not answered, or it cites no frame `n` (which
    a deleted frame's citation still is).
    """
    with database.write() as connection:
        turn_id = scalar(
            connection,
            """
            select t.id
            from turns t
            where t.conversation_id = :chat and t.n = :turn and t.status = 'done' and (
                :n = 0 or exists (select 1 from evidence e where e.turn_id = t.id and e.n = :n)
            )
            """,
            {"chat": chat_id, "turn": turn, "n": n},
        )
        if turn_id is None:
            return False
        put(
            connection, "answer_reports", "turn_id, n",
            turn_id=turn_id, n=n, verdict=verdict, note=note.strip()[:MAX_NOTE_CHARS], reported_ms=now_ms,
        )  # fmt: skip
    return True


def withdraw(database: Database, chat_id: int, turn: int, n: int) -> bool:
    """Take a verdict back; False when there was none."""
    sql = """
        delete from answer_reports
        where n = :n and turn_id = (select id from turns where conversation_id = :chat and n = :turn)
        """
    return database.change(sql, {"chat": chat_id, "turn": turn, "n": n}) > 0


def of_turns(database: Database, turn_ids: Sequence[int]) -> dict[int, tuple[Report, ...]]:
    """The reports of some turns (by `StoredTurn.id`), in the order of citations; no key without any."""
    found: dict[int, tuple[Report, ...]] = {}
    for turn_id, *told in database.rows(_REPORTS, (json.dumps(list(turn_ids)),)):
        found[turn_id] = (*found.get(turn_id, ()), Report(*told))
    return found


_REPORTS = """
select r.turn_id, r.n, r.verdict, r.note, r.reported_ms,
    (select e.frame_id from evidence e where e.turn_id = r.turn_id and e.n = r.n)
from json_each(?) j cross join answer_reports r on r.turn_id = j.value
order by r.turn_id, r.n
"""


# -- quotes to look for again -------------------------------------------------------------
# Quotes whose frame was read again: which they are, and what became of them.
#
# Triggers on `readings` mark them (``migrations/001_initial.sql``); looking for them again is the
# work of whoever can match a quote, inside one `database.write()`.


def save_recheck(
    connection: apsw.Connection, turn_id: int, found: Iterable[StoredEvidence], claims: Sequence[Any]
) -> None:
    """Store what the check said, and the turn's claims as they stand now (JSON objects)."""
    connection.executemany(
        """
        update evidence
        set state = :state, quote = :quote, boxes = :boxes, reading_id = :reading_id,
            checked_ms = :checked_ms, confidence = :confidence, needs_check = 0
        where turn_id = :turn_id and n = :n and needs_check = 1
        """,
        [{**asdict(item), "boxes": json.dumps(item.boxes), "turn_id": turn_id} for item in found],
    )
    sql = "update turns set payload = json_set(payload, '$.claims', json(?)) where id = ?"
    connection.execute(sql, (json.dumps(list(claims), ensure_ascii=False), turn_id))
