"""A frame was read again: its quotes are looked for in the new reading before anybody sees them.

The store marks such quotes in the transaction of the reading, so that in between nothing is said
about them; here, when their turn is next asked for, they are judged again by the same
deterministic check (`evidence.judge`). A quote that the new reading lacks is `not_found`, and the
reading it did stand in stays named (`reading_id`) and kept: made current again, it proves it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import cast
from zoneinfo import ZoneInfo

from assistant.core.records import Claim, EvidenceItem
from assistant.evidence import claims
from assistant.evidence.citations import JOINT, Verdict, judge
from assistant.turns import stored_turns
from store.chats import conversations, feedback
from store.chats.conversations import StoredEvidence, StoredTurn
from store.core.database import Database
from store.frames import frames
from store.frames.frames import FrameRow
from store.ocr import readings


def checked_again(database: Database, turn: StoredTurn) -> StoredTurn:
    """The turn with every quote judged by its frame's current reading; unchanged when they are."""
    if not any(item.needs_check for item in turn.evidence):
        return turn
    with database.write() as connection:
        waiting = feedback.pending_rechecks(database, turn.id)
        rows = frames.get_many(database, [item.frame_id for item in waiting if item.frame_id is not None])
        judged = [_judged(database, item, rows) for item in waiting]
        now = _claims(turn, judged, stored_turns.result(turn).claims, _texts(database, turn))
        feedback.save_recheck(connection, turn.id, judged, [asdict(each) for each in now])
    return cast(StoredTurn, conversations.turn(database, turn.chat_id, turn.n))


def _judged(database: Database, item: StoredEvidence, rows: Mapping[int, FrameRow]) -> StoredEvidence:
    """One item as its frame's current reading proves it."""
    assert item.frame_id is not None  # of a deleted frame nothing is left to check
    reading = readings.current_reading(database, item.frame_id)
    verdict: Verdict = judge(rows[item.frame_id], reading, [part for part in item.quote.split(JOINT) if part])
    is_found = verdict.state == "found"
    return replace(
        item,
        state=verdict.state,
        quote=verdict.quote if is_found else item.quote,
        boxes=tuple((box.x, box.y, box.w, box.h) for box in verdict.boxes),
        reading_id=verdict.reading_id if is_found else item.reading_id,
        confidence=verdict.confidence,
        needs_check=False,
        checked_ms=None if reading is None else reading.read_ms,
    )


def _texts(database: Database, turn: StoredTurn) -> dict[int, str]:
    """What the cited frames say now, by citation number, for claims that quote nothing of them."""
    found = {}
    for item in turn.evidence:
        reading = (
            None
            if item.n is None or item.frame_id is None
            else readings.current_reading(database, item.frame_id)
        )
        if item.n is not None and reading is not None:
            found[item.n] = reading.text
    return found


def _claims(
    turn: StoredTurn, judged: Sequence[StoredEvidence], was: Sequence[Claim], texts: Mapping[int, str]
) -> list[Claim]:
    """The claims; those that cite something judged otherwise than before are decided again.

    A claim that held and whose quotes still stand keeps its state. Durations are judged by what code
    had measured at the time; when that is gone (`store.deletion.chat_hooks`), a claim that leans on them is
    flagged rather than believed.
    """
    now = {item.n: item for item in judged if item.n is not None}
    items = [item if item.n is None else now.get(item.n, item) for item in turn.evidence]
    zone = ZoneInfo(turn.timezone)
    evidence: list[EvidenceItem] = [stored_turns.evidence_item(item, zone) for item in items]
    found = claims.check(turn.answer_md, evidence, stored_turns.measured(turn), texts)
    again = {(claim.start, claim.end): claim for claim in found}
    same = {n for item in turn.evidence if (n := item.n) in now and _is_same(item, now[n])}

    def decided(claim: Claim) -> Claim:
        judged_ones = now.keys() & claim.citations
        if not judged_ones or (claim.state == "found" and judged_ones <= same):
            return claim
        return again.get((claim.start, claim.end), claim)

    return [decided(claim) for claim in was]


def _is_same(before: StoredEvidence, now: StoredEvidence) -> bool:
    return (now.state, now.quote) == ("found", before.quote)
