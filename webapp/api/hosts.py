"""What other machines of the person hand in: entries of their spools, each under the name of its token.

A host speaks in two ways. Every few seconds it says how it is and is told the rules and the deletions; and it
hands in one entry after the other, as they lie in its spool. An entry is answered once it lies durably in
ours, so the host may let go of it; whoever missed the answer hands it in again, and it is known by its id.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

from flask import g
from pydantic import Field, TypeAdapter

from store.core import tombstones
from store.frames import frames
from store.frames.frames import MAX_CAPTURED_MS
from store.sources import hosts
from store.sources.hosts import Host
from store.spool import page_text
from store.spool.process_state import read_pause
from store.spool.queue import (
    IMAGE_NAMES,
    MAX_IMAGE_BYTES,
    MAX_RECORD_BYTES,
    Capture,
    DecisionRun,
    LookReport,
    is_storable,
)
from store.timeline.gaps import LONGEST_RUN_MS
from webapp.api.endpoint import check_parts, endpoint, read_part
from webapp.api.privacy import RuleAnswer, rules_in_force
from webapp.api.values import MAX_ID, MAX_TEXT, Answer, Request, Seconds, Text, Timestamp
from webapp.core.errors import Problem, invalid
from webapp.core.services import services
from webapp.security.access import Permission

_SOURCES = ("screen", "folder", "video")  # what a capture daemon looks at
_DECISIONS = ("kept", "deduped", "excluded", "paused", "failed")
_MAX_PIECES = 10_000
"""Rows of the ledger that one report may become."""
_Id = Annotated[int, Field(ge=0, le=MAX_ID)]
_ID: TypeAdapter[int] = TypeAdapter(_Id)


class CarriedOut(Request):
    deletion_id: _Id
    removed: Annotated[int, Field(ge=0, le=MAX_ID)] = Field(description="Captures that waited in its spool.")


class StateRequest(Request):
    instance: UUID = Field(description="Which machine speaks; made once. A token is for one.")
    sent_at: Seconds = Field(description="The host's clock now.")
    waiting: Annotated[int, Field(ge=0, le=MAX_ID)] = Field(description="Entries in its spool.")
    problem: Text = Field("", description="Why it records nothing just now, as a machine word.")
    rules_sha256: Text = Field("", description="Of the rules that it applies.")
    deletion_id: _Id = Field(0, description="All deletions up to this one are carried out there.")
    deletion_name: Text = Field("", description="As it was told with that number.")
    carried_out: list[CarriedOut] = Field([], max_length=1_000)


class OrderAnswer(Answer):
    """What the host removes from its spool: all of a time, or what is of one app in it."""

    id: int
    start_time: Timestamp
    end_time: Timestamp
    app_sha256: str | None = Field(description="SHA-256 of the app's name in case-folded UTF-8; null: any.")


class HostRulesAnswer(Answer):
    rules: list[RuleAnswer]
    defaults: bool
    mask_maybe_private: bool


class HostPauseAnswer(Answer):
    since: Timestamp
    until: Timestamp | None = Field(validation_alias="ends_ms", description="null: until resumed.")


class StateAnswer(Answer):
    name: str = Field(description="What the person calls this host.")
    server_time: Timestamp
    deletion_id: int = Field(description="With `deletions` carried out, all up to this one are.")
    deletion_name: str = Field(description="Tells it from another of that number, after a restore.")
    deletions: list[OrderAnswer]
    rules_sha256: str
    rules: HostRulesAnswer | None = Field(description="The rules in force, where the host has others.")
    pause: HostPauseAnswer | None = Field(description="Meanwhile nothing is to be recorded.")


@endpoint(
    "POST",
    "/hosts/state",
    "Say how this host is, and be told rules and deletions",
    {409: "host_taken", 503: "rules_unreadable"},
    permission=Permission.HOST,
)
def state(body: StateRequest) -> StateAnswer:
    """For `recollect capture --server`, with the token of the host."""
    own = services()
    loaded = rules_in_force()  # without the built-in ones, which every host has
    rules = HostRulesAnswer.of(loaded, rules=RuleAnswer.list_of(loaded.rules))
    digest = hashlib.sha256(rules.model_dump_json().encode()).hexdigest()
    now_ms = own.clock()
    report = Host(
        g.key.id, g.key.name, str(body.instance), now_ms, now_ms - body.sent_at,
        body.waiting, body.problem, body.rules_sha256, body.deletion_id,
    )  # fmt: skip
    carried_out = {each.deletion_id: each.removed for each in body.carried_out}
    try:
        with own.database.write() as connection:
            known = hosts.note(connection, report, body.deletion_name, carried_out)
            deletions, through = hosts.orders(connection, known.deletion_id)
            name = hosts.name_of(connection, through)
    except hosts.HostTaken as error:
        detail = "Another machine uses this token. Make one for each machine."
        raise Problem(409, "host_taken", detail) from error
    return StateAnswer(
        name=g.key.name,
        server_time=now_ms,
        deletion_id=through,
        deletion_name=name,
        deletions=OrderAnswer.list_of(deletions),
        rules_sha256=digest,
        rules=None if digest == body.rules_sha256 else rules,
        pause=HostPauseAnswer.of(pause) if (pause := read_pause(own.data_dir.spool, now_ms)) else None,
    )


class EntryUpload(Request):
    """multipart/form-data: an entry as it lies in the host's spool."""

    entry: str = Field(description="The record, `entry.json`.")
    sent_at: str = Field(description="The host's clock now, in epoch seconds.")
    deletion_id: str = Field("0", description="The last deletion that was carried out there before.")
    deletion_name: str = Field("", description="As it was told with that number.")
    image: bytes | None = Field(None, description="The picture of a capture, at most 25 MB.")
    text: bytes | None = Field(None, description="What programs told of its words, `page_text.json`.")


class EntryAnswer(Answer):
    status: Literal["queued", "known"]
    deletion_id: int = Field(description="The newest deletion; where it is new, ask for it.")


@endpoint(
    "POST",
    "/hosts/entries",
    "Hand in an entry of a host's spool",
    {409: "host_unknown", 422: "invalid_entry", 503: "spool_full"},
    upload=EntryUpload,
    status=202,
    permission=Permission.HOST,
)
def hand_in() -> EntryAnswer:
    """Durably queued when this answers 202. Idempotent by the id of the capture, or of the report."""
    check_parts(EntryUpload.model_fields)
    own, host = services(), hosts.get(services().database, g.key.id)
    if host is None:
        raise Problem(409, "host_unknown", "Say first how this host is (POST /hosts/state).")
    _note_skew(host)
    try:
        deletion_id = _ID.validate_python(_form("deletion_id", "0"))
    except ValueError as error:
        raise _refused("deletion_id", "must be the number of a deletion") from error
    with own.database.read() as connection:
        newest = tombstones.newest(connection)
        # Not what the host has carried out by now: these bytes may have been on their way since before.
        done = hosts.reached(connection, deletion_id, _form("deletion_name", ""))
    record = _of_host(_record(), host, done)
    if isinstance(record, LookReport):
        own.spool.put(record)
        return EntryAnswer(status="queued", deletion_id=newest)
    known = frames.outcome(own.database, record.capture_id)
    if known is not None and known.outcome != "failed":
        return EntryAnswer(status="known", deletion_id=newest)
    image = read_part("image", MAX_IMAGE_BYTES)
    if image is None or hashlib.sha256(image).hexdigest() != record.sha256:
        raise _refused("image", "is missing, or not the one that was captured (SHA-256)")
    own.spool.put(record, image, read_part("text", page_text.MAX_BYTES))
    return EntryAnswer(status="queued", deletion_id=newest)


def _of_host(record: Capture | LookReport, host: Host, deletion_id: int) -> Capture | LookReport:
    """The record under the name of its token, whatever it says. Screens of two hosts are two screens."""
    if isinstance(record, Capture):
        monitor = f"{host.name}/{record.monitor}"
        return replace(record, host=host.name, monitor=monitor, host_deletion_id=deletion_id)
    runs = tuple(replace(run, monitor=f"{host.name}/{run.monitor}") for run in record.runs)
    return replace(record, host=host.name, runs=runs)


def _note_skew(host: Host) -> None:
    """Measured at each upload, and noted where it tells something new."""
    try:
        sent_ms = round(float(_form("sent_at")) * 1000)
    except (ValueError, OverflowError) as error:
        raise _refused("sent_at", "must be epoch seconds") from error
    skew_ms = services().clock() - sent_ms
    if host.skew_ms - skew_ms > hosts.SKEW_SHOWN_MS / 4 and abs(skew_ms) < MAX_CAPTURED_MS:
        with services().database.write() as connection:
            hosts.note_skew(connection, host.key_id, skew_ms)


_KINDS: dict[Any, TypeAdapter[Any]] = {"capture": TypeAdapter(Capture), "looks": TypeAdapter(LookReport)}


def _record() -> Capture | LookReport:
    """The part `entry` as a record whose values have their types, and ids and times that can be."""
    try:
        document = json.loads(_form("entry"))
        adapter = _KINDS[document.pop("kind")]
        record: Capture | LookReport = adapter.validate_json(json.dumps(document), strict=True)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _refused("entry", "is no record of a capture or of looks") from error
    if not (_is_capture(record) if isinstance(record, Capture) else _is_report(record)):
        raise _refused("entry", "has an id, a source, a decision or a time that cannot be")
    return record


def _is_capture(record: Capture) -> bool:
    """What the name of an entry is made of; all else is checked where it is stored, as of every capture."""
    is_known = record.source in _SOURCES and record.image_type in IMAGE_NAMES
    return is_known and _is_uuid(record.capture_id) and 1 <= record.captured_ms < MAX_CAPTURED_MS


def _is_report(record: LookReport) -> bool:
    """Reports are entered as they are, so all of one is checked."""
    texts = [text for run in record.runs for text in (run.monitor, run.reason, run.capture_id or "")]
    timed: list[LookReport | DecisionRun] = [record, *record.runs]
    spans = [(each.start_ms, each.end_ms, each.looks) for each in timed]
    return (
        _is_uuid(record.batch_id)
        and all(1 <= start <= end < MAX_CAPTURED_MS and 0 <= looks < 2**31 for start, end, looks in spans)
        and sum(1 + (end - start) // LONGEST_RUN_MS for start, end, _ in spans) <= _MAX_PIECES
        and all(run.decision in _DECISIONS for run in record.runs)
        and all(len(text) <= MAX_TEXT and is_storable(text) for text in texts)
    )


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _form(name: str, default: str | None = None) -> str:
    text = (read_part(name, MAX_RECORD_BYTES) or b"").decode("utf-8", "replace")
    if not text and default is None:
        raise _refused(name, "is missing")
    return text or default or ""


def _refused(part: str, why: str) -> Problem:
    return invalid(422, "invalid_entry", (part, why))
