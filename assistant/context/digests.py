"""Roll-ups of closed chats: the recent days chat by chat, the time before folded by month (R1.12, R1.13)."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from assistant.context.session_summary import one_line
from assistant.core.strings import local_time
from store.core.database import Database
from store.memory import chat_digests, chat_summaries
from store.memory.chat_digests import Digest, Line
from store.memory.chat_summaries import ChatSummary

DAY_MS = 86_400_000
MAX_RECENT = 200
"""Chats that the digest of the recent days holds, newest first."""
MAX_LINE_CHARS = 260


def recent(database: Database, recent_days: int, now_ms: int) -> Digest:
    """Chats that ended in the last `recent_days`, newest first; made and kept where it is missing."""
    since_ms = now_ms - recent_days * DAY_MS
    known = chat_digests.get(database, "recent")
    if known is not None and not any(line.at_ms < since_ms for line in known.lines):
        return known
    return roll_up_recent(database, recent_days, now_ms)


def roll_up_recent(database: Database, recent_days: int, now_ms: int) -> Digest:
    """Make the digest of the recent days anew and keep it."""
    since_ms = now_ms - recent_days * DAY_MS
    ids = chat_digests.recent(database, since_ms, MAX_RECENT)
    found = chat_summaries.get(database, ids)
    digest = Digest("recent", tuple(line_of(found[each]) for each in ids if each in found), since_ms, now_ms)
    chat_digests.put(database, digest)
    return digest


def history(database: Database, recent_days: int, now_ms: int) -> Digest:
    """What the time before the recent days was about; made anew when a chat is not recent any more."""
    until_ms = now_ms - recent_days * DAY_MS
    known = chat_digests.get(database, "history")
    if known is not None and not chat_digests.ended_between(database, known.until_ms, until_ms):
        return known
    lines = tuple(
        Line(_folded(month), month.ids, month.ended_ms) for month in chat_digests.months(database, until_ms)
    )
    digest = Digest("history", lines, until_ms, now_ms)
    chat_digests.put(database, digest)
    return digest


def line_of(summary: ChatSummary) -> Line:
    """One chat as a bullet: its day, what was wanted, and what came of it."""
    parts = [summary.request or "", summary.learned or summary.investigated or summary.completed or ""]
    if summary.next_steps:
        parts.append(summary.next_steps)
    day = local_time(summary.ended_ms, ZoneInfo(summary.timezone))[:10]
    text = f"{day}: " + " — ".join(part for part in parts if part)
    return Line(one_line(text, MAX_LINE_CHARS), (summary.session_id,), summary.ended_ms)


def _folded(month: chat_digests.Month) -> str:
    chats = "1 chat" if month.sessions == 1 else f"{month.sessions} chats"
    about = f" about {', '.join(month.tags)}" if month.tags else ""
    return f"{month.month}: {chats}{about}."
