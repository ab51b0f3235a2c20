"""Insights: narratives of a frame or a moment, every version of each, exactly one of them current.

An insight is an answered turn of a conversation that has an anchor (`store.chats.records`): the turn holds
the evidence and the claims, the insight the title, the summary and the messages that made it. A later version
of the same anchor (generated again, or amended) takes its place and changes nothing of it; deleting the
current one lets the newest that is left be current (a trigger, so that no way of deleting forgets it).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from store.chats import conversations
from store.chats.conversations import DELETED_ANSWER
from store.chats.records import Anchor
from store.core import copies
from store.core.database import Database, change, scalar
from store.core.errors import NotFound, existing
from store.core.records import columns, narrowed

MAX_TITLE_CHARS = 120

TrainingMessage = Mapping[str, Any]
"""A message as a model knows it: ``role``, ``content``, and where there are any ``tool_calls``."""


@dataclass(frozen=True, slots=True)
class Insight:
    """One version. `chat_id` and `n` name the turn that wrote it; `persona` is the name of who spoke, as it
    was then, '' for an override or nobody. `version` counts from 1 within the anchor.
    """

    id: int
    anchor: Anchor
    title: str
    summary: str
    is_current: bool
    is_forgotten: bool
    created_ms: int
    chat_id: int
    n: int
    model: str
    timezone: str
    style_note: str
    persona_id: int | None
    persona_version: int | None
    persona: str
    amends_id: int | None
    version: int
    versions: int
    unsourced: tuple[str, ...]
    """Sentences of the summary that rest on nothing."""

    def borne_out(self, text: str) -> str:
        """A text of it without these sentences."""
        for sentence in self.unsourced:
            text = text.replace(sentence, "…")
        return text


@dataclass(frozen=True, slots=True)
class InsightFilter:
    """Which insights a list has; the range is overlapped, None means any."""

    start_ms: int | None = None
    end_ms: int | None = None
    frame_id: int | None = None
    persona_id: int | None = None
    all_versions: bool = False


def put(
    database: Database,
    turn_id: int,
    anchor: Anchor,
    title: str,
    messages: Sequence[TrainingMessage],
    now_ms: int,
) -> int | None:
    """Let a turn's answer be the current insight of an anchor; returns its id.

    None where there is nothing to keep: the turn or the frame has gone, what the answer rested on was deleted
    while the title was made, or another turn of its conversation has told one. Where anything else was
    deleted meanwhile the summary stays, as it was checked, its beginning is the title, and the messages go.
    """
    values = _anchor_values(anchor) | {
        "turn": turn_id, "title": title_of(title), "messages": _json(messages), "now": now_ms,
        "removed": DELETED_ANSWER,
    }  # fmt: skip
    with database.write() as connection:
        if not scalar(connection, _IS_THERE, values):
            return None
        if not conversations.is_current(connection, turn_id):
            answer = scalar(connection, "select answer_md from turns where id = ?", (turn_id,))
            values |= {"messages": redacted(_json(messages)), "title": title_of(answer)}
        connection.execute(f"update insights set is_current = 0 where is_current = 1 and {_SAME}", values)
        connection.execute(_INSERT, values)
        return connection.last_insert_rowid()


def restore(database: Database, insight_id: int) -> None:
    """Let a version be the current one again. Raises `NotFound`."""
    with database.write() as connection:
        values = _anchor_values(get(database, insight_id).anchor) | {"id": insight_id}
        connection.execute(
            f"update insights set is_current = 0 where is_current = 1 and id <> :id and {_SAME}", values
        )
        connection.execute("update insights set is_current = 1 where id = ?", (insight_id,))


def delete(database: Database, insight_id: int) -> None:
    """Remove a version with its conversation. Raises `NotFound`."""
    with database.write() as connection:
        its_chat = "select t.conversation_id from insights i join turns t on t.id = i.turn_id where i.id = ?"
        if not change(connection, f"delete from conversations where id = ({its_chat})", (insight_id,)):
            raise NotFound("insight", insight_id)
        copies.outdate(connection)
    database.checkpoint()


def title_of(text: str) -> str:
    """A title: one line without quotes or marks around it, of at most `MAX_TITLE_CHARS`."""
    line = next((" ".join(each.split()) for each in text.splitlines() if each.strip()), "")
    line = line.strip("#*_\"'“”‘’`「」《》 ").rstrip(".。")
    return line if len(line) <= MAX_TITLE_CHARS else f"{line[: MAX_TITLE_CHARS - 1].rstrip()}…"


def get(database: Database, insight_id: int) -> Insight:
    """One version. Raises `NotFound`."""
    return existing(
        next(iter(_select(database, "i.id = :id", {"id": insight_id})), None), "insight", insight_id
    )


def get_many(database: Database, ids: Iterable[int]) -> list[Insight]:
    """The versions that exist among these ids."""
    return _select(database, "i.id in (select value from json_each(:ids))", {"ids": json.dumps(list(ids))})


def of_chat(database: Database, chat_id: int) -> Insight | None:
    """The insight that a conversation holds, or None."""
    return next(iter(_select(database, "t.conversation_id = :chat", {"chat": chat_id})), None)


def of_turn(database: Database, chat_id: int, n: int) -> Insight | None:
    """The insight that a turn has told, or None."""
    found = of_chat(database, chat_id)
    return found if found and found.n == n else None


def current(database: Database, anchor: Anchor) -> Insight | None:
    values = _anchor_values(anchor)
    return next(iter(_select(database, f"i.is_current = 1 and {_same('i')}", values)), None)


def versions(database: Database, anchor: Anchor) -> list[Insight]:
    """Every version of an anchor, the newest first."""
    return _select(database, f"{_same('i')} order by i.id desc", _anchor_values(anchor))


def list_insights(
    database: Database,
    wanted: InsightFilter = InsightFilter(),
    limit: int = 50,
    before: tuple[int, int] | None = None,
    offset: int = 0,
) -> list[Insight]:
    """Insights, of the latest time first. `before` is (start_ms, id) of the last one of a page."""
    where, values = _wanted(wanted)
    values |= {"limit": limit, "offset": offset}
    if before is not None:
        where += " and (i.start_ms, i.id) < (:before_ms, :before_id)"
        values |= {"before_ms": before[0], "before_id": before[1]}
    order = "order by i.start_ms desc, i.id desc limit :limit offset :offset"
    return _select(database, f"{where} {order}", values)


def count(database: Database, wanted: InsightFilter = InsightFilter()) -> int:
    where, values = _wanted(wanted)
    return int(database.scalar(f"select count(*) from insights i where {where}", values))


def _wanted(wanted: InsightFilter) -> tuple[str, dict[str, Any]]:
    """A list's condition on ``i``, and the values it binds."""
    return narrowed(_TESTS, wanted, "true" if wanted.all_versions else "i.is_current = 1")


_TESTS = {
    "start_ms": "i.end_ms > :start_ms",
    "end_ms": "i.start_ms < :end_ms",
    "frame_id": "i.frame_id = :frame_id",
    "persona_id": "i.persona_id = :persona_id",
}


def messages(database: Database, insight_id: int) -> list[dict[str, Any]]:
    """The messages that made an insight, the system's first. Raises `NotFound`."""
    sql = "select training_messages from insights where id = ?"
    stored = existing(database.scalar(sql, (insight_id,)), "insight", insight_id)
    loaded: list[dict[str, Any]] = json.loads(stored)
    return loaded


def redacted(training_messages: str) -> str:
    """The messages without what they may tell of the screen: who spoke stays, and in which order."""
    return _json(
        [
            each if each["role"] == "system" else {"role": each["role"], "content": DELETED_ANSWER}
            for each in json.loads(training_messages)
        ]
    )


def _same(table: str) -> str:
    """Whether a row is of the anchor that is bound."""
    return (
        f"{table}.anchor_kind = :kind and {table}.frame_id is :frame "
        f"and (:kind = 'frame' or ({table}.start_ms = :start and {table}.end_ms = :end))"
    )


_SAME = _same("insights")


def _anchor_values(anchor: Anchor) -> dict[str, Any]:
    return {"kind": anchor.kind, "frame": anchor.frame_id, "start": anchor.start_ms, "end": anchor.end_ms}


def _select(database: Database, condition: str, values: Mapping[str, Any]) -> list[Insight]:
    return database.records(Insight, f"{_SELECT} where {condition}", values)


def _json(messages: Sequence[TrainingMessage]) -> str:
    return json.dumps(messages, ensure_ascii=False)


_VERSIONS = """(
    select count(*) from insights o where o.anchor_kind = i.anchor_kind and o.frame_id is i.frame_id
        and (i.anchor_kind = 'frame' or (o.start_ms = i.start_ms and o.end_ms = i.end_ms)){}
)"""
_ELSEWHERE = {
    "anchor": "json_array(i.anchor_kind, i.start_ms, i.end_ms, i.frame_id)",
    "chat_id": "t.conversation_id",
    **{
        name: f"t.{name}"
        for name in ("n", "model", "timezone", "style_note", "persona_id", "persona_version")
    },
    "persona": "coalesce(p.name, '')",
    "amends_id": "a.amends_id",
    "version": _VERSIONS.format(" and o.id <= i.id"),
    "versions": _VERSIONS.format(""),
    "unsourced": """(
        select json_group_array(c.value ->> 'text') from json_each(t.payload, '$.claims') c
        where c.value ->> 'state' in ('no_source', 'not_on_frame', 'no_evidence', 'not_found')
    )""",
}
_SELECT = f"""
select {columns(Insight, "i", **_ELSEWHERE)}
from insights i
join turns t on t.id = i.turn_id
left join persona_versions p on p.persona_id = t.persona_id and p.version = t.persona_version
left join anchors a on a.conversation_id = t.conversation_id
"""

_IS_THERE = """
select 1
from turns t
where t.id = :turn and t.status = 'done' and t.answer_md not in ('', :removed)
    and (:frame is null or exists (select 1 from frames f where f.id = :frame))
    and not exists (
        select 1 from insights i join turns o on o.id = i.turn_id where o.conversation_id = t.conversation_id
    )
"""

_INSERT = """
insert into insights (anchor_kind, frame_id, start_ms, end_ms, turn_id, persona_id, title, summary,
    training_messages, is_current, created_ms)
select :kind, :frame, :start, :end, t.id, t.persona_id, :title, t.answer_md, :messages, 1, :now
from turns t
where t.id = :turn
"""
