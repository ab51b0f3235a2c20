"""What a window is about: found in its questions, kept while it lasts, changed when it drifts.

Candidates are the words of the first questions, and of the latest for a drift; how often they are named and
what earlier chats were tagged with says how sure each is. What a person chose or dismissed wins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal
from zoneinfo import ZoneInfo

from assistant.context.session_summary import line_of
from assistant.core.texts import HAN, REDACTED, normalize, redacted
from assistant.language import time_phrases
from assistant.language.questions import asked_words
from assistant.language.time_phrases import Calendar
from store.core.database import Database
from store.memory import chat_digests, chat_sessions, chat_summaries
from store.memory.chat_digests import Digest, Line

FIRST_TURNS = 5
LATEST_TURNS = 3
DRIFT_BY = 0.1
"""How much surer another topic has to be."""
MAX_SESSIONS = 8
MAX_TITLE_CHARS = 60
THRESHOLD = 0.35
"""How sure a topic has to be, 0 to 1: named in most questions, or in some and in earlier chats (`scores`)."""
DIGEST_TTL_MS = 24 * 3_600_000
"""A topic's digest is made anew after this: what chats of today came to is in it tomorrow."""

Origin = Literal["inferred", "person"]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a window. `tag` is what it goes by, `since_ms` when the window came to it."""

    tag: str
    title: str
    score: float
    by: Origin
    since_ms: int

    def to_json(self) -> dict[str, Any]:
        """As a session's metadata keeps it."""
        return asdict(self)


def topic_of_session(metadata: Mapping[str, Any]) -> Topic | None:
    """The topic of a session's metadata."""
    kept = metadata.get("topic")
    return Topic(**kept) if kept else None


def is_dismissed(metadata: Mapping[str, Any]) -> bool:
    """Whether the person wants no topic in this window."""
    return bool(metadata.get("no_topic"))


def decide_topic(
    database: Database,
    session_id: int,
    metadata: Mapping[str, Any],
    messages: Sequence[str],
    now_ms: int,
    cooldown_s: float,
) -> Topic | None:
    """The topic of a window after these questions of the person, the last one being asked now.

    One that is younger than `cooldown_s` does not change.
    """
    current = topic_of_session(metadata)
    if is_dismissed(metadata):
        return None
    if current and current.by == "person":
        return current
    refused = chat_digests.dismissed(database)
    latest = scores(database, messages[-LATEST_TURNS:], session_id, refused)
    if current is None or current.tag in refused:
        first = scores(database, messages[:FIRST_TURNS], session_id, refused)
        surest = {tag: max(first.get(tag, 0.0), latest.get(tag, 0.0)) for tag in first | latest}
        return _best(database, surest, messages, now_ms)
    if current.since_ms > now_ms - cooldown_s * 1_000:
        return current
    surer = latest.get(current.tag, 0.0) + DRIFT_BY
    others = {tag: score for tag, score in latest.items() if tag != current.tag and score > surer}
    return _best(database, others, messages[-LATEST_TURNS:], now_ms) or current


def choose(database: Database, chat_id: int, way: str, title: str, now_ms: int) -> bool:
    """Let the topic of a chat's window be as the person says: ``chosen`` by its title, ``none``, or found.

    What was found and dismissed or renamed is not taken for the topic again. False without a window.
    """
    session = chat_sessions.latest_of_chat(database, chat_id)
    if session is None:
        return False
    current = topic_of_session(session.metadata)
    if way == "none":
        changes: dict[str, Any] = {"topic": None, "no_topic": True}
    elif way == "automatic":
        changes = {"topic": None, "no_topic": None}
    else:
        tag = current.tag if current and current.by == "inferred" else normalize(title)
        changes = {"topic": Topic(tag, title, 1.0, "person", now_ms).to_json(), "no_topic": None}
        known = chat_digests.topic(database, tag)
        if known:
            chat_digests.rename_topic(database, known.id, title)
    chat_sessions.note(database, session.id, changes)
    return True


def scores(
    database: Database, messages: Sequence[str], session_id: int | None, refused: Collection[str] = ()
) -> dict[str, float]:
    """How sure each word of these questions is to be their topic, 0 to 1.

    Half is the share of the questions that name it, half what earlier chats say: with one that is surely
    about it a third of that half, with many nearly all.
    """
    confidences = tags(messages, most=24)
    known = chat_digests.inventory(database, tuple(confidences), session_id)
    sure_by_tag = {}
    for tag, confidence in confidences.items():
        if tag in refused:
            continue
        share = (confidence - 0.3) / 0.7
        number, sure = known.get(tag, (0, 0.0))
        sure_by_tag[tag] = round(0.5 * share + 0.5 * sure * number / (number + 2), 3)
    return sure_by_tag


def digest(database: Database, tag: str, title: str, score: float, now_ms: int) -> tuple[Line, ...]:
    """What earlier chats came to about a topic; made again when missing, too old or surer."""
    known = chat_digests.topic(database, tag)
    is_stronger = known is not None and score > known.score + DRIFT_BY
    if known is not None and known.expires_ms > now_ms and not is_stronger:
        return known.lines
    expires_ms = now_ms + DIGEST_TTL_MS
    with database.write() as connection:  # a summary that goes takes along only what is there
        lines = _lines(database, chat_digests.about(database, tag, MAX_SESSIONS))
        chat_digests.put_topic(connection, tag, title, lines, score, now_ms, expires_ms)
    return lines


def _best(
    database: Database, scores_by_tag: Mapping[str, float], messages: Sequence[str], now_ms: int
) -> Topic | None:
    """The surest topic that is sure enough; of several the one that says more."""
    tag = max(scores_by_tag, key=lambda tag: (scores_by_tag[tag], min(len(tag), 12), tag), default="")
    if not tag or scores_by_tag[tag] <= THRESHOLD:
        return None
    known = chat_digests.topic(database, tag)
    title = known.title if known else title_of(tag, messages)
    return Topic(tag, title, scores_by_tag[tag], "inferred", now_ms)


def title_of(tag: str, messages: Sequence[str]) -> str:
    """A tag with the word that stands beside it more than once, as a title."""
    beside: Counter[str] = Counter()
    for message in messages:
        words = [word.strip("?!.,;:") for word in normalize(message).split()]
        tags = set(keyword_candidates(message))
        beside.update(" ".join(pair) for pair in pairwise(words) if tag in pair and set(pair) <= tags)
    [(commonest, times)] = beside.most_common(1) or [("", 0)]
    title = commonest if times > 1 else tag
    return title[:1].upper() + title[1:]


# -- roll-ups of closed chats -----------------------------------------------------------------
#
# The recent days chat by chat, the time before folded by month.

DAY_MS = 86_400_000
RECENT_DAYS = 28
"""Chats of four weeks are told of one by one; those before are folded by month."""
RECENT_MS = RECENT_DAYS * DAY_MS
MAX_RECENT = 200
"""Chats that the digest of the recent days holds, newest first."""


def recent(database: Database, now_ms: int) -> Digest:
    """Chats that ended in the last `RECENT_DAYS`, newest first; made and kept where it is missing."""
    since_ms = now_ms - RECENT_MS
    known = chat_digests.get(database, "recent")
    if known is not None and not any(line.at_ms < since_ms for line in known.lines):
        return known
    with database.write() as connection:
        lines = _lines(database, chat_digests.recent(database, since_ms, MAX_RECENT))
        digest = Digest("recent", lines, since_ms, now_ms)
        chat_digests.put(connection, digest)
    return digest


def history(database: Database, now_ms: int) -> Digest:
    """What the time before the recent days was about; made anew when a chat is not recent any more."""
    until_ms = now_ms - RECENT_MS
    known = chat_digests.get(database, "history")
    if known is not None and not chat_digests.ended_between(database, known.until_ms, until_ms):
        return known
    with database.write() as connection:
        months = chat_digests.months(database, until_ms)
        lines = tuple(Line(_folded(month), month.ids, month.ended_ms) for month in months)
        digest = Digest("history", lines, until_ms, now_ms)
        chat_digests.put(connection, digest)
    return digest


def _lines(database: Database, session_ids: Sequence[int]) -> tuple[Line, ...]:
    """What these sessions came to, in their order."""
    return tuple(map(line_of, chat_summaries.get(database, session_ids).values()))


def _folded(month: chat_digests.Month) -> str:
    chats = "1 chat" if month.sessions == 1 else f"{month.sessions} chats"
    about = f" about {', '.join(month.tags)}" if month.tags else ""
    return f"{month.month}: {chats}{about}."


# -- tags: the words of a person's questions --------------------------------------------------
#
# What a person's questions are about, as tags: their own words only, never an answer's.

MAX_TAGS = 8
TAG_MIN_CHARS = 3
TAG_MIN_CJK_CHARS = 2
TAG_MAX_CHARS = 40

_HAS_LETTER = re.compile(r"[^\W\d_]")
_REDACTED_WORD = REDACTED.strip("[]")


_LATER = Calendar(4_102_444_800_000, ZoneInfo("UTC"))
"""The words of time in a text are the same on any day; on this one all days of a chat have been."""


def keyword_candidates(message: str) -> tuple[str, ...]:
    """The words of one message that may be tags, in normal form, each once: none of asking, nor of time."""
    time = time_phrases.in_message(message, _LATER)
    about = message.replace(time.phrase, " ") if time else message
    return tuple(word for word in asked_words(redacted(about)) if _is_tag(word))


def tags(messages: Sequence[str], most: int = MAX_TAGS) -> dict[str, float]:
    """Tags of a session with how sure each is, 0 to 1: the share of its questions that name it.

    A word of one question among many says less than half of what a word of each does.
    """
    words_of_each = [set(keyword_candidates(message)) for message in messages]
    known = set().union(*words_of_each)
    # A plural s goes where the word is used without it, too.
    plurals = {word: word[:-1] for word in known if word.endswith("s") and word[:-1] in known}
    counted = Counter(word for words in words_of_each for word in {plurals.get(each, each) for each in words})
    ranked = sorted(counted, key=lambda word: (-counted[word], -min(len(word), 12), word))
    return {word: round(0.3 + 0.7 * counted[word] / len(messages), 3) for word in ranked[:most]}


def _is_tag(word: str) -> bool:
    if HAN.search(word):
        return len(word) >= TAG_MIN_CJK_CHARS
    is_word = TAG_MIN_CHARS <= len(word) <= TAG_MAX_CHARS and _HAS_LETTER.search(word) is not None
    return is_word and word != _REDACTED_WORD
