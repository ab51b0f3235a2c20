"""Sessions and topics of chats, as the pages of memory show them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assistant.context import topics
from assistant.context.session_closing import is_opted_out
from store.memory import chat_digests, chat_sessions, chat_summaries
from store.memory.chat_digests import Topic
from store.memory.chat_sessions import ChatSession
from store.memory.chat_summaries import ChatSummary, SessionTurn
from webapp.api import chat_memory
from webapp.api.chat_memory import SourcedLine, SourcedText
from webapp.core.services import Services

PAGE = 50


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One window. `summary` is None until it has one."""

    session: ChatSession
    summary: ChatSummary | None
    said: dict[str, tuple[SourcedText, ...]]  # its fields, with where each sentence is from


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """Everything `memory/sessions.html` draws; `older` is where the next page begins, None at the end."""

    rows: list[SessionRow]
    older: int | None
    is_off: bool  # by the person
    off: str  # by the settings, '' where it is not


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Everything `memory/session.html` draws. `asked` are its questions with where they stand."""

    session: ChatSession
    summary: ChatSummary | None
    said: dict[str, tuple[SourcedText, ...]]
    asked: list[SessionTurn]


@dataclass(frozen=True, slots=True)
class TopicPage:
    """One topic with its lines, and the others that it may be merged into."""

    topic: Topic
    lines: list[SourcedLine]
    others: list[Topic]


@dataclass(frozen=True, slots=True)
class DigestsPage:
    """Everything `memory/digests.html` draws: the last `days`, and the time before them."""

    days: int
    recent: list[SourcedLine]
    history: list[SourcedLine]


def sessions_page(own: Services, before: int | None) -> SessionsPage:
    """A page of windows in which something was asked, newest first."""
    found = chat_sessions.listed(own.database, PAGE + 1, before)
    shown = found[:PAGE]
    summaries = chat_summaries.get(own.database, [each.id for each in shown])
    off = ""
    if not own.settings.context.enabled:
        off = "The settings switch this off (context.enabled)."
    elif is_opted_out(own.context):
        off = "The settings switch this off for you (context.opt_out)."
    return SessionsPage(
        rows=[_row(own, each, summaries.get(each.id)) for each in shown],
        older=shown[-1].id if len(found) > PAGE else None,
        is_off=chat_sessions.is_off(own.database),
        off=off,
    )


def session_page(own: Services, session: ChatSession) -> SessionPage:
    """A window with its summary and its questions."""
    found = chat_summaries.get(own.database, [session.id]).get(session.id)
    said = chat_memory.of_summary(own.database, found) if found else {}
    return SessionPage(session, found, said, chat_summaries.summary_input(own.database, session.id))


def topic_page(own: Services, topic: Topic) -> TopicPage:
    """A topic with what chats came to about it."""
    found = topics.digest(own.database, topics.of_stored(topic), own.settings.context, own.clock())
    topic = replace(topic, lines=found)
    others = [each for each in chat_digests.topics(own.database) if each.id != topic.id]
    return TopicPage(topic, chat_memory.of_lines(own.database, topic.lines), others)


def digests_page(own: Services) -> DigestsPage:
    """What packs are made from, as it is now."""
    days, now_ms = own.settings.context.recent_days, own.clock()
    return DigestsPage(
        days,
        chat_memory.of_lines(own.database, topics.recent(own.database, days, now_ms).lines),
        chat_memory.of_lines(own.database, topics.history(own.database, days, now_ms).lines),
    )


def _row(own: Services, session: ChatSession, summary: ChatSummary | None) -> SessionRow:
    return SessionRow(session, summary, chat_memory.of_summary(own.database, summary) if summary else {})
