"""What a window is about: found in its questions, kept while it lasts, changed when it drifts (R1.21-R1.25).

Candidates are the words of the first questions, and of the latest for a drift; how often they are named and
what earlier chats were tagged with says how sure each is. What a person chose or dismissed wins.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

from assistant.context import keywords
from assistant.context.digests import line_of
from assistant.core.texts import normalize
from store.core.database import Database
from store.core.settings import ContextSettings
from store.memory import chat_digests, chat_sessions, chat_summaries
from store.memory.chat_digests import Line

FIRST_TURNS = 5
LATEST_TURNS = 3
DRIFT_BY = 0.1
"""How much surer another topic has to be."""
MAX_SESSIONS = 8
MAX_TITLE_CHARS = 60
_HOUR_MS = 3_600_000

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


def stored(metadata: Mapping[str, Any]) -> Topic | None:
    """The topic of a session's metadata."""
    kept = metadata.get("topic")
    return Topic(**kept) if kept else None


def of_stored(known: chat_digests.Topic) -> Topic:
    """A topic that is known, as if a window were about it."""
    return Topic(known.topic, known.title, known.score, "inferred", known.built_ms)


def is_dismissed(metadata: Mapping[str, Any]) -> bool:
    """Whether the person wants no topic in this window."""
    return bool(metadata.get("no_topic"))


def decided(
    database: Database,
    settings: ContextSettings,
    session_id: int,
    metadata: Mapping[str, Any],
    messages: Sequence[str],
    now_ms: int,
) -> Topic | None:
    """The topic of a window after these questions of the person, the last one being asked now."""
    current = stored(metadata)
    if is_dismissed(metadata):
        return None
    if current and current.by == "person":
        return current
    refused = chat_digests.dismissed(database)
    latest = scores(database, messages[-LATEST_TURNS:], session_id, refused)
    first = scores(database, messages[:FIRST_TURNS], session_id, refused)
    if current and current.tag in refused:
        current = None
    if current is None:
        found = {tag: max(first.get(tag, 0.0), latest.get(tag, 0.0)) for tag in first | latest}
        best = _best(found)
        return _topic(database, best, found.get(best, 0.0), settings, messages, now_ms)
    return _drifted(database, settings, current, latest, messages, now_ms)


def choose(database: Database, chat_id: int, way: str, title: str, now_ms: int) -> bool:
    """Let the topic of a chat's window be as the person says: ``chosen`` by its title, ``none``, or found.

    What was found and dismissed or renamed is not taken for the topic again. False without a window.
    """
    session = chat_sessions.latest_of_chat(database, chat_id)
    if session is None:
        return False
    found = stored(session.metadata)
    if way == "none":
        changes: dict[str, Any] = {"topic": None, "no_topic": True}
    elif way == "automatic":
        changes = {"topic": None, "no_topic": None}
    else:
        tag = found.tag if found and found.by == "inferred" else normalize(title)
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
    named = keywords.tags(messages, most=24)
    known = chat_digests.inventory(database, tuple(named), session_id)
    found = {}
    for tag, confidence in named.items():
        if tag in refused:
            continue
        share = (confidence - 0.3) / 0.7
        number, sure = known.get(tag, (0, 0.0))
        found[tag] = round(0.5 * share + 0.5 * sure * number / (number + 2), 3)
    return found


def digest(database: Database, topic: Topic, settings: ContextSettings, now_ms: int) -> tuple[Line, ...]:
    """What earlier chats came to about a topic; made again when missing, too old or surer (R1.22)."""
    known = chat_digests.topic(database, topic.tag)
    is_stronger = known is not None and topic.score > known.score + DRIFT_BY
    if known is not None and known.expires_ms > now_ms and not is_stronger:
        return known.lines
    ids = chat_digests.about(database, topic.tag, MAX_SESSIONS)
    found = chat_summaries.get(database, ids)
    lines = tuple(line_of(found[each]) for each in ids if each in found)
    expires_ms = now_ms + round(settings.topic_ttl_hours * _HOUR_MS)
    chat_digests.put_topic(database, topic.tag, topic.title, lines, topic.score, now_ms, expires_ms)
    return lines


def _drifted(
    database: Database,
    settings: ContextSettings,
    current: Topic,
    latest: Mapping[str, float],
    messages: Sequence[str],
    now_ms: int,
) -> Topic:
    """The topic that the latest questions changed to, else the current one."""
    best = _best(latest)
    is_surer = latest.get(best, 0.0) > latest.get(current.tag, 0.0) + DRIFT_BY
    is_cool = now_ms - current.since_ms >= settings.refresh_cooldown_s * 1_000
    if best == current.tag or not is_surer or not is_cool:
        return current
    return _topic(database, best, latest[best], settings, messages[-LATEST_TURNS:], now_ms) or current


def _topic(
    database: Database,
    tag: str,
    score: float,
    settings: ContextSettings,
    messages: Sequence[str],
    now_ms: int,
) -> Topic | None:
    if not tag or score <= settings.topic_threshold:
        return None
    known = chat_digests.topic(database, tag)
    return Topic(tag, known.title if known else title_of(tag, messages), score, "inferred", now_ms)


def _best(found: Mapping[str, float]) -> str:
    """The surest tag; of several the one that says more. '' for none."""
    return max(found, key=lambda tag: (found[tag], min(len(tag), 12), tag), default="")


def title_of(tag: str, messages: Sequence[str]) -> str:
    """A tag with the word that stands beside it more than once, as a title."""
    beside: dict[str, int] = {}
    for message in messages:
        words = normalize(message).split()
        tags = set(keywords.keyword_candidates(message))
        for left, right in pairwise(words):
            pair = (left.strip("?!.,;:"), right.strip("?!.,;:"))
            if tag in pair and pair[0] != pair[1] and set(pair) <= tags:
                beside[" ".join(pair)] = beside.get(" ".join(pair), 0) + 1
    often = max(beside, key=lambda pair: beside[pair], default="")
    title = often if beside.get(often, 0) > 1 else tag
    return title[:1].upper() + title[1:]
