"""The rows of observations as they are derived. Everything here runs inside `database.write()`.

An hour is written as a whole. One whose frames and texts are as they were is left alone, a model's
words included; documents follow what the observation says with the person's edits over it.

`due` is the queue of observations that a chat model may put into better words: of settled hours, the newest
first. What a model wrote is kept while the frames stay as they are; a failure waits longer each time and is
given up in the end, and the rules' words stay.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import apsw

from store.core.database import Database, change, column, rows, scalar
from store.core.records import put as put_row
from store.core.records import put_parts
from store.memory import documents, observations
from store.memory.observations import MODEL_SAYS, Draft, Fact, Observation, load


def put_hour(connection: apsw.Connection, hour: int, drafts: Iterable[Draft], now_ms: int) -> int:
    """Let an hour hold these observations; returns how many were new or changed.

    One whose frames and texts are as they were is left alone, a model's words included.
    """
    known = {
        place: (number, fingerprint)
        for number, place, fingerprint in rows(
            connection, "select id, place, fingerprint from observations where hour = ?", (hour,)
        )
    }
    changed = 0
    for draft in drafts:
        number, fingerprint = known.pop(key(draft.place), (None, ""))
        if number is None or fingerprint != draft.fingerprint:
            put(connection, draft, now_ms)
            changed += 1
    for number, _ in known.values():
        _drop(connection, number)
        changed += 1
    return changed


def put(connection: apsw.Connection, draft: Draft, now_ms: int) -> None:
    """Enter one observation, or write it anew; edits stay as they are."""
    place = key(draft.place)
    put_row(
        connection, "observations", "hour, place",
        hour=draft.hour, place=place, start_ms=draft.start_ms, end_ms=draft.end_ms, active_ms=draft.active_ms,
        app_name=draft.app_name, kind=draft.kind, project=draft.project, title=draft.title,
        narrative=draft.narrative, source="rule", fingerprint=draft.fingerprint, refine_attempts=0,
        refine_next_ms=0, refine_error=None, updated_ms=now_ms,
    )  # fmt: skip
    sql = "select id, is_hidden from observations where hour = ? and place = ?"
    [(number, is_hidden)] = rows(connection, sql, (draft.hour, place))
    if is_hidden:
        blank(connection, number, keep_fingerprint=True)
        return
    of_it = {"observation_id": number}
    _put_facts(connection, number, draft.facts)
    for term, values in (("concept", draft.concepts), ("file", draft.files), ("url", draft.urls)):
        put_parts(connection, "observation_terms", {**of_it, "term": term}, "n, value", enumerate(values))
    put_parts(connection, "observation_frames", of_it, "frame_id", zip(draft.frame_ids))
    put_documents(connection, number)


def key(place: str) -> str:
    """What a place is told by: the row may outlive the title or address in it, which must not."""
    return blake2b(place.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _put_facts(connection: apsw.Connection, number: int, facts: Iterable[Fact]) -> None:
    lines = ((n, fact.frame_id, fact.text) for n, fact in enumerate(facts))
    put_parts(connection, "observation_facts", {"observation_id": number}, "n, frame_id, text", lines)


def put_documents(connection: apsw.Connection, observation_id: int) -> int:
    """Let the documents say what the observation says now; returns how many are new."""
    found = load(connection, "observations o", {"id": observation_id}, "o.id = :id")
    fields, about = dict[str, str](), dict[str, Any](created_ms=0, ended_ms=0, project=None)
    for one in found:
        labels = [one.title, one.app_name or "", ", ".join(one.concepts), *one.files, *one.urls]
        fields = {
            "narrative": one.narrative.partition(MODEL_SAYS)[0],  # found by what the screen said alone
            "facts": "\n".join(fact.text for fact in one.facts),
            "text": "\n".join(label for label in labels if label),
        }
        about = {"created_ms": one.start_ms, "ended_ms": one.end_ms, "project": one.project}
    return documents.put(connection, "observation", observation_id, fields, **about)


def _drop(connection: apsw.Connection, observation_id: int) -> None:
    """Remove what the frames no longer say; a person's words stay."""
    if scalar(connection, STAYS.format(but=""), {"id": observation_id}):
        blank(connection, observation_id)
        put_documents(connection, observation_id)
    else:
        connection.execute("delete from observations where id = ?", (observation_id,))


def blank(connection: apsw.Connection, observation_id: int, *, keep_fingerprint: bool = False) -> None:
    """Take away everything that was derived."""
    connection.execute(
        """
        update observations
        set title = coalesce(app_name, ''), narrative = '', project = null, source = 'rule',
            refine_next_ms = null, refine_error = null,
            fingerprint = iif(:keep, fingerprint, '')
        where id = :id
        """,
        {"id": observation_id, "keep": keep_fingerprint},
    )
    for table in ("observation_facts", "observation_terms", "observation_frames"):
        connection.execute(f"delete from {table} where observation_id = ?", (observation_id,))


STAYS = """
select 1
from observations o
where o.id = :id and (o.edits <> '{{}}' or o.is_hidden = 1 and exists (
    select 1 from frames f
    where f.id >= o.start_ms * 1024 and f.id < o.end_ms * 1024 + 1024 and f.app_name is o.app_name {but}
))
"""
"""SQL that gives a row for an observation that a person wrote in, or hid while it could be made again."""


# -- edits --------------------------------------------------------------------------------
# What a person does to observations: write their own words, take them back, hide one for good.

EDITABLE = ("title", "narrative", "facts", "concepts", "kind", "project")


def edit(database: Database, observation_id: int, words: Mapping[str, Any], now_ms: int) -> bool:
    """Let a person's words be these, by the fields `EDITABLE`; False when there is no such id.

    A field that is missing, or reads as it is derived, follows the frames. Raises `ValueError` for
    another field.
    """
    unknown = set(words) - set(EDITABLE)
    if unknown:
        raise ValueError(f"cannot be edited: {sorted(unknown)}; can: {', '.join(EDITABLE)}")
    with database.write() as connection:
        derived = _derived(connection, observation_id)
        if derived is None:
            return False
        kept = {name: value for name, value in words.items() if value != derived[name]}
        connection.execute(
            "update observations set edits = ?, updated_ms = ? where id = ?",
            (json.dumps(kept, ensure_ascii=False, sort_keys=True), now_ms, observation_id),
        )
        put_documents(connection, observation_id)
    return True


def hide(database: Database, observation_id: int, now_ms: int) -> bool:
    """Take an observation out of memory for good; False when there is none.

    Its text goes; the empty row stays, so that deriving again does not bring it back.
    """
    with database.write() as connection:
        if _derived(connection, observation_id) is None:
            return False
        blank(connection, observation_id)
        sql = "update observations set is_hidden = 1, edits = '{}', updated_ms = ? where id = ?"
        connection.execute(sql, (now_ms, observation_id))
        put_documents(connection, observation_id)
    database.checkpoint()
    return True


def _derived(connection: apsw.Connection, observation_id: int) -> dict[str, Any] | None:
    """The editable fields without the edits; None for one that was hidden or has gone."""
    sql = "select title, narrative, kind, project from observations where id = ? and is_hidden = 0"
    for found in rows(connection, sql, (observation_id,)):
        facts = "select text from observation_facts where observation_id = ? order by n"
        of_it = "from observation_terms where observation_id = ? and term = 'concept'"
        return {
            **dict(zip(("title", "narrative", "kind", "project"), found, strict=True)),
            "facts": column(connection, facts, (observation_id,)),
            "concepts": column(connection, f"select value {of_it} order by n", (observation_id,)),
        }
    return None


# -- refinements --------------------------------------------------------------------------

RETRY_AFTER_MS = (300_000, 600_000, 3_600_000)
"""Waits between the tries at one observation; after the last try it is given up."""


def due(database: Database, now_ms: int, limit: int) -> list[tuple[Observation, str]]:
    """Observations to refine with the fingerprint of what they were made from, newest first."""
    with database.read() as connection:
        found = rows(
            connection,
            """
            select o.id, o.fingerprint
            from observations o
            where o.refine_next_ms <= :now and o.is_hidden = 0 and o.fingerprint <> ''
                and (o.hour + 1) * 3600000 < :now
                and not exists (select 1 from memory_hours h where h.hour = o.hour)
            order by o.start_ms desc, o.id desc
            limit :limit
            """,
            {"now": now_ms, "limit": limit},
        )
        fingerprints = dict(found)
        return [(one, fingerprints[one.id]) for one in observations.get_many(database, fingerprints)]


def accept(
    connection: apsw.Connection,
    observation_id: int,
    fingerprint: str,
    narrative: str,
    facts: Sequence[Fact],
    now_ms: int,
) -> bool:
    """Keep a model's words, and the lines that it chose, behind those of the rules; False when the frames
    changed meanwhile, and nothing is kept.
    """
    by_rules = scalar(connection, "select narrative from observations where id = ?", (observation_id,)) or ""
    told = f"{by_rules.partition(MODEL_SAYS)[0].strip()}\n{MODEL_SAYS}{narrative}".strip()
    sql = """
        update observations
        set narrative = :told, source = 'model', refine_next_ms = null, refine_error = null, updated_ms = :now
        where id = :id and fingerprint = :fingerprint and is_hidden = 0
        """
    values = {"id": observation_id, "fingerprint": fingerprint, "told": told, "now": now_ms}
    if not change(connection, sql, values):
        return False
    sql = "select text, frame_id from observation_facts where observation_id = ? order by n"
    lines: dict[str, Fact] = {}
    for fact in (*(Fact(*row) for row in rows(connection, sql, (observation_id,))), *facts):
        lines.setdefault(fact.text, fact)
    _put_facts(connection, observation_id, lines.values())
    put_documents(connection, observation_id)
    return True


def fail(connection: apsw.Connection, observation_id: int, fingerprint: str, error: str, now_ms: int) -> None:
    """Note that a try failed, and when the next one is; `error` never holds screen text."""
    waits = ", ".join(f"({n}, {wait})" for n, wait in enumerate(RETRY_AFTER_MS))
    connection.execute(
        f"""
        with waits (attempts, wait_ms) as (values {waits})
        update observations
        set refine_error = :error, refine_attempts = refine_attempts + 1,
            refine_next_ms = (select :now + wait_ms from waits where attempts = refine_attempts)
        where id = :id and fingerprint = :fingerprint
        """,
        {"id": observation_id, "fingerprint": fingerprint, "error": error, "now": now_ms},
    )


# -- backfill -----------------------------------------------------------------------------
# The documents that observations, summaries and prompts should have and lack.

BATCH = 100
"""Things whose documents are written in one transaction."""


@dataclass(frozen=True, slots=True)
class Backfill:
    """How many prompts there are, and how many documents were added."""

    prompts: int
    created: int


def backfill(database: Database) -> Backfill:
    """Write the documents that are missing, newest first.

    Safe to stop anywhere and to repeat: what is there is left alone, and a second run creates nothing.
    """
    created = 0
    for missing, put in _WRITERS.items():
        ids = database.column(missing)
        for start in range(0, len(ids), BATCH):
            with database.write() as connection:
                created += sum(put(connection, number) for number in ids[start : start + BATCH])
    return Backfill(database.scalar("select count(*) from messages where role = 'user'"), created)


def _put_prompt(connection: apsw.Connection, message_id: int) -> int:
    sql = """
        insert or ignore into memory_documents (document_id, doc_type, sqlite_id, field, session_id,
            created_ms, ended_ms, prompt_number, text)
        select 'prompt_' || id, 'user_prompt', id, 'prompt', conversation_id, created_ms, created_ms + 1,
            coalesce(turn, 0), content
        from messages
        where id = ? and role = 'user' and trim(content) <> ''
        """
    return change(connection, sql, (message_id,))


def _missing(table: str, doc_type: str, time: str = "start_ms", where: str = "true") -> str:
    return f"""
        select t.id from {table} t
        where {where} and not exists (
            select 1 from memory_documents d where d.doc_type = '{doc_type}' and d.sqlite_id = t.id
        )
        order by t.{time} desc, t.id desc
        """


_ASKED = "t.role = 'user' and trim(t.content) <> ''"
_WRITERS: dict[str, Callable[[apsw.Connection, int], int]] = {
    _missing("messages", "user_prompt", "created_ms", _ASKED): _put_prompt,
    _missing("observations", "observation"): put_documents,
    _missing("session_summaries", "session_summary"): documents.put_documents,
}
