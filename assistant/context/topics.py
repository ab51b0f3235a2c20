"""What a window is about: found in its questions, kept while it lasts, changed when it drifts.

Candidates are the words of the first questions, and of the latest for a drift; how often they are named and
what earlier chats were tagged with says how sure each is. What a person chose or dismissed wins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Literal
from zoneinfo import ZoneInfo

from assistant.context import relevance, session_summary
from assistant.context.session_summary import line_of
from assistant.core.texts import HAN, REDACTED, normalize, position, redacted
from assistant.language import time_phrases
from assistant.language.questions import asked_words, without_settling
from assistant.language.small_words import is_small, language_of
from assistant.language.time_phrases import Calendar
from store.core.database import Database
from store.core.times import MAX_MS
from store.memory import chat_digests, chat_sessions, chat_summaries
from store.memory.chat_digests import Digest, Kind, Line
from store.memory.chat_summaries import ChatSummary

FIRST_TURNS = 5
LATEST_TURNS = 3
DRIFT_BY = 0.1
"""How much surer another topic has to be."""
MAX_SESSIONS = 8
MAX_TITLE_CHARS = 60
MAX_SCORED = 24
"""Tags of the questions of a window that may be its topic."""
THRESHOLD = 0.35
"""How sure a topic has to be, 0 to 1: named in most questions, or in some and in earlier chats (`scores`)."""
SURE = 0.65
"""How sure chats are to be about what becomes a topic by itself: half of their questions name it."""
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


def is_chosen(metadata: Mapping[str, Any]) -> bool:
    """Whether the person said what this window is about, or that nothing is."""
    topic = topic_of_session(metadata)
    return is_dismissed(metadata) or (topic is not None and topic.by == "person")


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
    if is_chosen(metadata):
        return None if is_dismissed(metadata) else current
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
    with database.write() as connection:
        chat_sessions.note(connection, session.id, changes)
    return True


def scores(
    database: Database, messages: Sequence[str], session_id: int | None, refused: Collection[str] = ()
) -> dict[str, float]:
    """How sure each tag of these questions is to be their topic, 0 to 1.

    Half is the share of the questions that name it, half what earlier chats say: with one that is surely
    about it a third of that half, with many nearly all.
    """
    counted = _counted(messages)
    known = chat_digests.inventory(database, list(counted), session_id)
    sure_by_tag = {}
    for tag in {*_telling(counted)[:MAX_SCORED], *known} - {*refused}:
        number, sure = known.get(tag, (0, 0.0))
        share = counted[tag] / len(messages)
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
        if lines or known:
            chat_digests.put_topic(connection, tag, title, lines, score, now_ms, expires_ms)
    return lines


def renewed(database: Database, now_ms: int) -> list[chat_digests.Topic]:
    """Every topic as its chats are now, the one made last first; none of which no chat is left.

    Such a one keeps the name that a person gave it, for chats to come.
    """
    for topic in chat_digests.topics(database):
        if topic.expires_ms <= now_ms:
            digest(database, topic.topic, topic.title, topic.score, now_ms)
    return [topic for topic in chat_digests.topics(database) if topic.lines or topic.is_dismissed]


def gather(database: Database, session_ids: Sequence[int], now_ms: int) -> None:
    """Make topics of what these chats surely have in common with earlier ones."""
    for summary in chat_summaries.get(database, session_ids).values():
        for tag, confidence in summary.tags:
            others = chat_digests.about(database, tag, MAX_SESSIONS) if confidence >= SURE else []
            if len(others) > 1 and not chat_digests.topic(database, tag):
                questions = [each.request or "" for each in chat_summaries.get(database, others).values()]
                title, known = title_of(tag, questions), chat_digests.topics(database)
                told = [{number for line in each.lines for number in line.sessions} for each in known]
                # Two names of the same chats are one topic: the surer tag comes first.
                if title not in {each.title for each in known} and {*others} not in told:
                    digest(database, tag, title, confidence, now_ms)


def _best(
    database: Database, scores_by_tag: Mapping[str, float], messages: Sequence[str], now_ms: int
) -> Topic | None:
    """The surest topic that is sure enough; none where several are as sure: then nothing says which it is."""
    tag, *even = _surest(scores_by_tag) or [""]
    if even or scores_by_tag.get(tag, 0.0) <= THRESHOLD:
        return None
    known = chat_digests.topic(database, tag)
    title = known.title if known else title_of(tag, messages)
    return Topic(tag, title, scores_by_tag[tag], "inferred", now_ms)


def _surest(scores_by_tag: Mapping[str, float]) -> list[str]:
    """The tags of the highest score without parts of another one; of pairs of signs, which overlap, one."""
    highest = max(scores_by_tag.values(), default=0.0)
    best = [tag for tag, score in scores_by_tag.items() if score == highest]
    signs = sorted(filter(HAN.search, best))[-1:]
    return signs or [tag for tag in best if not any(_holds(other, tag) for other in best)]


def title_of(tag: str, messages: Sequence[str]) -> str:
    """A tag with the words that stand beside it in several of these questions, as a title."""
    counted = _counted(messages)
    beside = [other for other in counted if counted[other] > 1 and _holds(other, tag)]
    title = max(beside, key=lambda phrase: (counted[phrase], len(phrase)), default=tag)
    return title[:1].upper() + title[1:]


# -- roll-ups of closed chats -----------------------------------------------------------------
#
# The recent days chat by chat, the time before by week.

DAY_MS = 86_400_000
RECENT_MS = 28 * DAY_MS
"""Chats of four weeks are told of one by one; those before by week."""
MAX_RECENT = 200
"""Chats that the digest of the recent days holds, newest first."""
MAX_FOLDED = 1_000
"""Chats before them that are told of by week, newest first."""
OF_WEEK = 6
"""Chats of a week that are told of."""


def roll_up(database: Database, kind: Kind, now_ms: int) -> Digest:
    """The chats that ended in the last `RECENT_MS`, newest first, or those before them by week; made and
    kept where it is missing, and when a chat is not recent any more.
    """
    until_ms = now_ms - RECENT_MS
    known = chat_digests.get(database, kind)
    if known is not None and not chat_digests.ended_between(database, known.until_ms, until_ms, 1):
        return known
    with database.write() as connection:  # a summary that goes takes along only what is there
        if kind == "recent":
            lines = _lines(database, chat_digests.ended_between(database, until_ms, MAX_MS, MAX_RECENT))
        else:
            folded = chat_digests.ended_between(database, 0, until_ms, MAX_FOLDED)
            lines = _weeks(chat_summaries.get(database, folded))
        digest = Digest(kind, lines, until_ms, now_ms)
        chat_digests.put(connection, digest)
    return digest


def _lines(database: Database, session_ids: Sequence[int]) -> tuple[Line, ...]:
    """What these sessions came to, in their order."""
    return tuple(map(line_of, chat_summaries.get(database, session_ids).values()))


def _weeks(summaries: Mapping[int, ChatSummary]) -> tuple[Line, ...]:
    """These chats, the newest first, as a line for each week: its days, and what stood out of each chat."""
    weeks: dict[date, list[ChatSummary]] = {}
    for summary in summaries.values():
        day = date.fromisoformat(session_summary.day_of(summary))
        weeks.setdefault(day - timedelta(days=day.weekday()), []).append(summary)
    return tuple(
        Line(_week(monday, chats), tuple(chat.session_id for chat in chats), chats[0].ended_ms)
        for monday, chats in weeks.items()
    )


def _week(monday: date, chats: Sequence[ChatSummary]) -> str:
    number = "1 chat" if len(chats) == 1 else f"{len(chats)} chats"
    told = dict.fromkeys(map(_told, chats[:OF_WEEK]))
    return f"{monday} to {monday + timedelta(days=6)}, {number}: {' · '.join(told)}"


def _told(chat: ChatSummary) -> str:
    """What a chat began with, and the sentence that says most of what it came to."""
    own = session_summary.sentences(chat)
    best = relevance.ranked(own, chat.request or "", {chat.session_id: 1.0})[:1]
    return session_summary.under_subject(chat, session_summary.as_line(best), 80)


# -- tags: the words of a person's questions --------------------------------------------------
#
# What a person's questions are about, as tags: their own words only, never an answer's.

MAX_TAGS = 8
TAG_MIN_CHARS = 3
TAG_MIN_CJK_CHARS = 2
TAG_MAX_CHARS = 40

_HAS_LETTER = re.compile(r"[^\W\d_]")
_REDACTED_WORD = REDACTED.strip("[]")
_PIECE = re.compile(r"\w+(?:[.+#'’-]+\w+)*|[^\w\s]")
_LATER = Calendar(4_102_444_800_000, ZoneInfo("UTC"))
"""The words of time in a text are the same on any day; on this one all days of a chat have been."""


def tags(messages: Sequence[str], answers: str = "") -> dict[str, float]:
    """Tags of a session with how sure each is, 0 to 1: the share of its questions that name it.

    A word of one question among many says less than half of what a word of each does. Words that stand side
    by side in several questions are one tag, and so are those that only ever stand so. Where answers say
    some of them, those that they do not say ("what is wrong with it?") are half as sure.
    """
    counted, said = _counted(messages), normalize(answers)
    told = _telling(counted)[:MAX_TAGS]
    sure = {tag: 0.3 + 0.7 * counted[tag] / len(messages) for tag in told}
    unsaid = {tag for tag in told if position(tag, said) < 0}
    is_any_said = len(unsaid) < len(told)
    return {tag: round(sure[tag] / (1 + (is_any_said and tag in unsaid)), 3) for tag in told}


def _telling(counted: Mapping[str, int]) -> list[str]:
    """The words, and what stands side by side in several questions, without what only ever stands so; what
    most questions name first.
    """
    phrases = [tag for tag, times in counted.items() if times > 1 and " " in tag]
    alone = [*phrases, *(tag for tag in counted if " " not in tag)]
    own = [
        tag for tag in alone
        if not any(counted[tag] == counted[other] and _holds(other, tag) for other in phrases)
    ]  # fmt: skip
    return sorted(own, key=lambda tag: (-counted[tag], -min(len(tag), 24), tag))


def _holds(phrase: str, tag: str) -> bool:
    """Whether a tag is a part of a longer one."""
    return tag != phrase and f" {tag} " in f" {phrase} "


def _counted(messages: Sequence[str]) -> Counter[str]:
    """How many of these questions name each word that may be a tag, and each two or three side by side. A
    plural s goes where the word is used without it, too.
    """
    named = [_named(message) for message in messages]
    known = frozenset[str]().union(*named)
    return Counter(
        tag
        for of_message in named
        for tag in {word[:-1] if word.endswith("s") and word[:-1] in known else word for word in of_message}
    )


@lru_cache(maxsize=256)
def _named(message: str) -> frozenset[str]:
    """The words of one message that may be tags, in normal form, and those of them that stand side by side:
    none of asking or settling, nor of time, and no small word of its language. Signs in pairs stand alone.
    """
    time = time_phrases.in_message(message, _LATER)
    about = without_settling(redacted(message.replace(time.phrase, " | ") if time else message))
    language = language_of(normalize(about))
    words = {word for word in asked_words(about) if _is_tag(word) and not is_small(word, language)}
    pieces = [
        word if word in words and not HAN.search(word) else "" for word in _PIECE.findall(normalize(about))
    ]
    beside = (pieces[at : at + size] for size in (2, 3) for at in range(len(pieces) - size + 1))
    return frozenset([*words, *(" ".join(run) for run in beside if all(run))])


def _is_tag(word: str) -> bool:
    if HAN.search(word):
        return len(word) >= TAG_MIN_CJK_CHARS
    is_word = TAG_MIN_CHARS <= len(word) <= TAG_MAX_CHARS and _HAS_LETTER.search(word) is not None
    return is_word and word != _REDACTED_WORD
