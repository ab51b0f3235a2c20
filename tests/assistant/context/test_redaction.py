"""Secrets never enter what is remembered of a chat; the corpus is in secrets.txt."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.context import topics
from assistant.context.background import ContextRequest, prepare
from assistant.context.session_closing import ContextServices
from assistant.core.texts import REDACTED, is_luhn, redacted
from store.core.times import MAX_MS
from store.memory import chat_digests, chat_sessions, chat_summaries
from tests.assistant.context.helpers import Past
from tests.tables import for_each

LINES = [
    line.replace("\\n", "\n")
    for line in (Path(__file__).parent / "secrets.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
_MARKED = re.compile("«(.*?)»", re.DOTALL)


def planted(line: str) -> tuple[str, str]:
    """(the text, its secret)."""
    match = _MARKED.search(line)
    assert match is not None
    return line.replace("«", "").replace("»", ""), match[1]


def test_the_corpus_is_large() -> None:
    assert len(LINES) >= 100
    assert len({planted(line)[1] for line in LINES}) >= 100


@for_each("line", LINES)
def test_a_planted_secret_goes_and_its_surroundings_stay(line: str) -> None:
    text, secret = planted(line)
    clean = redacted(text)
    assert REDACTED in clean
    assert all(part not in clean for part in secret.split("\n"))
    before = line.split("«")[0][:3]
    assert clean.startswith(before)


@for_each(
    "text",
    [
        "What did I set retention to?",
        "The order 1234567890123 of 2026-11-20",  # no check digit
        "Mail from sketch-studio about the sky-line",
        "I read about passwords and tokens today",
        "The secret of good tea; the token ring",
        "frame 1795176000000",
        "昨天的密码学课程讲了什么",
        "call +49 30 1234567",
        "https://example.org/a:b@c",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redacted(text) == text


@settings(max_examples=60)
@given(st.text(max_size=200))
def test_a_second_time_it_changes_nothing(text: str) -> None:
    once = redacted(text)
    assert redacted(once) == once


def test_the_check_digit_is_that_of_iso_7812() -> None:
    assert is_luhn([int(each) for each in "4111111111111111"])
    assert not is_luhn([int(each) for each in "4111111111111112"])


def test_no_planted_secret_reaches_summaries_tags_digests_or_packs(
    past: Past, context: ContextServices
) -> None:
    """All of them at once, in questions and in answers that were proven."""
    pairs = [planted(line) for line in LINES]
    for text, _ in pairs:
        past.window(f"About the login page {text}", answers=[f"It says {text} there."])
    told = []
    ids = chat_digests.ended_between(context.database, 0, MAX_MS, 1_000)
    assert len(ids) == len(pairs)
    for summary in chat_summaries.get(context.database, ids).values():
        told += [*filter(None, summary.fields.values()), *(tag for tag, _ in summary.tags)]
    told += [line.text for line in topics.roll_up(context.database, "recent", context.clock()).lines]
    told += [line.text for topic in chat_digests.topics(context.database) for line in topic.lines]
    session_id = chat_sessions.create(context.database, context.clock())
    for _, secret in pairs[::10]:  # nearest to the question: what it was about
        asking = ContextRequest(f"About the login page {secret}?", None, session_id, "v2")
        pack = prepare(context, asking)
        assert pack.system_augmentation
        told += [pack.system_augmentation, str(pack.pack.record), pack.topic.title if pack.topic else ""]
    everything = "\n".join(told)
    leaked = [
        secret for _, secret in pairs for part in secret.split("\n") if len(part) > 6 and part in everything
    ]
    assert leaked == []
    words = {tag for summary in chat_summaries.get(context.database, ids).values() for tag, _ in summary.tags}
    assert not words & {secret.casefold() for _, secret in pairs}


def test_tags_are_made_of_what_is_left() -> None:
    assert topics.tags(["password: hunter2 for the router"]) == {"password": 1.0, "router": 1.0}
