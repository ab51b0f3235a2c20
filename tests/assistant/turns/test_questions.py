"""Which questions only a sound recording could answer."""

from __future__ import annotations

from assistant.turns.evidence_mode import needs_sound
from tests.tables import for_each


@for_each(
    "message",
    [
        "What was discussed in the meeting?",
        "what did Anna say?",
        "What did the customer say about the price?",
        "Summarize the call with the supplier",
        "会议内容是什么",
        "他说了什么？",
        "帮我总结一下上午的电话",
        "what did I hear in the podcast",
    ],
)
def test_what_was_said_needs_sound(message: str) -> None:
    assert needs_sound(message)


@for_each(
    "message",
    [
        "What does the handbook say about travel?",
        "What did the report say about costs?",
        "what does the contract mention about notice",
        "What did Anna say in the chat?",
        "手册里说了什么？",
        "合同里提到了哪些期限",
        "What did I do today 14:00-17:00?",
        "总结一下我今天 14:00-17:00 做了什么",
        "How far was the clock off?",
    ],
)
def test_what_was_written_or_done_does_not(message: str) -> None:
    assert not needs_sound(message)
