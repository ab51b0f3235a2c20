"""Windows of the past, made as they are made in life: asked, answered, closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assistant.context import session_closing
from assistant.context.session_closing import ContextServices
from store.chats import conversations
from store.chats.records import StoredEvidence
from store.memory import chat_sessions
from tests.factories import Clock

DAY_MS = 86_400_000


class Past:
    """Makes sessions; each call is one window of a chat of its own unless it is told another."""

    def __init__(self, context: ContextServices, clock: Clock) -> None:
        self.context = context
        self.clock = clock

    def window(
        self,
        *questions: str,
        answers: Sequence[str] = (),
        days_ago: float = 0,
        chat_id: int | None = None,
        closed: bool = True,
        evidence: Sequence[StoredEvidence] = (),
        range_ms: tuple[int, int] | None = None,
        states: Sequence[str] = (),
    ) -> int:
        """The id of a session in which this was asked; `states` are those of the answers' claims."""
        database, today_ms = self.context.database, self.clock.now_ms
        self.clock.now_ms = round(today_ms - days_ago * DAY_MS)
        if chat_id is None and questions:
            chat_id = conversations.create(database, questions[0], self.clock())
        session_id = chat_sessions.create(database, self.clock(), chat_id)
        for at, question in enumerate(questions):
            assert chat_id is not None
            answer = answers[at] if at < len(answers) else f"Answer to that is {at}."
            turn = conversations.add_turn(
                database,
                chat_id,
                mode="evidence" if range_ms else "agent",
                model="stub",
                question=question,
                start_ms=range_ms[0] if range_ms else None,
                end_ms=range_ms[1] if range_ms else None,
                timezone="Asia/Shanghai",
                now_ms=self.clock(),
                session_id=session_id,
            )
            state = states[at] if at < len(states) else "found"
            payload = {"claims": [_claim(answer, state)]}
            conversations.finish_turn(database, turn.id, answer, payload, evidence, self.clock())
        if closed:
            session_closing.close(self.context, session_id, "window")
        self.clock.now_ms = today_ms
        return session_id


def _claim(answer: str, state: str) -> dict[str, Any]:
    return {"text": answer, "start": 0, "end": len(answer), "citations": [1], "state": state, "missing": []}
