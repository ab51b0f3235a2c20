"""Is it recording, reading and finding, right now: facts with times, each with a verdict.

`check` looks at the state files of capture and ingest, the spool, the disk and the database. Loop
alive, frame written, frame searchable, paused and excluded are separate facts, since each can fail by itself.
The canary is drawn from real data: the newest frame that has words must be found by a search for one
of them, in its own millisecond.

`recording_indicator` is what the person is told about recording at the top of every page.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from typing import Literal

from store.backup import backup
from store.core import tokenizer
from store.core.database import Database
from store.core.translation import ENGLISH, N_, language, ngettext, translated
from store.core.translation import gettext as _
from store.deletion import retention
from store.embeddings import vectors
from store.frames import frames
from store.ocr import readings
from store.privacy.rules import load_rules
from store.search.filters import Filters
from store.search.search import search
from store.sources import hosts
from store.spool import process_state
from store.spool.process_state import CaptureState, IngestState, Pause, is_alive, read_pause
from store.timeline import sample_week, totals
from webapp.core import formatting
from webapp.core.services import Services
from webapp.ops import site_rules
from webapp.ops.control import free_space

Verdict = Literal["ok", "warn", "bad", "off"]
Status = Literal["healthy", "degraded", "unhealthy"]

SILENT_MS = 30_000
"""Older than this, a look at the screen is no proof that recording goes on."""

QUEUE_WARN_MS = 2 * 60_000
QUEUE_BAD_MS = 15 * 60_000
BACKLOG_WARN_MIN = 60
FULL_WARN_DAYS = 14
BACKUP_WARN_DAYS = 3
_MONTH_DAYS = 30.44
_CANARY_LOOKBACK = 20
_START = N_("Start `recollect up`.")
_STATE_WORDS = {
    "recording": N_("recording"),
    "paused": N_("paused"),
    "excluded": N_("excluded"),
    "locked": N_("locked"),
    "starting": N_("starting"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One fact: its value, the verdict, why, and what a person can do (empty when nothing)."""

    name: str
    verdict: Verdict
    value: str
    why: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    status: Status
    parts: tuple[Part, ...]
    checked_ms: int


def check(own: Services) -> Health:
    """All parts. Takes milliseconds: no model and no engine is asked."""
    now_ms = own.clock()
    state = process_state.CaptureState.read(own.data_dir.spool)
    worker = process_state.IngestState.read(own.data_dir.spool)
    parts = (
        capture_part(own, state, now_ms),
        ingest_part(own, worker, now_ms),
        index_part(own.database, worker, now_ms),
        embedding_part(own, worker),
        storage_part(own),
        model_part(own),
        canary_part(own.database),
    )
    return Health(overall(parts), parts, now_ms)


def overall(parts: tuple[Part, ...]) -> Status:
    """Unhealthy when something is bad, degraded when something is not right, else healthy."""
    verdicts = {part.verdict for part in parts}
    if "bad" in verdicts:
        return "unhealthy"
    needed = {part.verdict for part in parts if part.name in ("capture", "ingest")}
    return "degraded" if "warn" in verdicts or "off" in needed else "healthy"


def capture_part(own: Services, state: CaptureState | None, now_ms: int) -> Part:
    if sample_week.is_sample(own.data_dir):
        return Part("capture", "ok", _("sample week"), _("nothing is recorded into a sample week"))
    pause = read_pause(own.data_dir.spool, now_ms)
    if pause is not None:
        why = _("paused until resumed") if pause.ends_ms is None else _("paused for a while")
        return Part("capture", "ok", _("paused"), why, _("`recollect resume` ends the pause."))
    elsewhere = recorded_elsewhere(own, now_ms)
    if elsewhere and (state is None or state.state == "stopped"):
        return Part("capture", "ok", _("recording"), elsewhere)
    if state is None:
        return Part("capture", "off", _("never ran"), _("capture has not run here"), _(_START))
    if state.state == "stopped":
        return Part("capture", "off", _("stopped"), _("capture was ended"), _(_START))
    if not is_alive(state, now_ms):
        return Part("capture", "bad", _("gone"), _lifeless(state, now_ms), _("Look at logs/capture.log."))
    part = _of_capture_state(state, now_ms)
    rules = load_rules(own.data_dir, own.settings.privacy).rules
    left_out = site_rules.left_out_words(own.database, own.data_dir, rules, now_ms)
    if left_out and part.verdict != "bad":
        part = replace(part, verdict="warn", why=f"{formatting.sentence(part.why)} {left_out}")
    return part


def _of_capture_state(state: CaptureState, now_ms: int) -> Part:
    why = _translated(state.detail or state.reason, formatting.failure(state.reason))
    if state.state == "failing":
        action = _("It is tried again by itself; see `recollect doctor`.")
        return Part("capture", "bad", _("failing"), why, action)
    words = _STATE_WORDS.get(state.state, state.state)
    if state.state == "excluded":  # nothing at all is recorded, which who looks here may not know
        return Part("capture", "warn", _(words), f"{why} {_lasting(state, now_ms)}".strip())
    if state.state in ("locked", "starting", "paused"):
        return Part("capture", "ok", _(words), why)
    silent_ms = now_ms - (state.started_ms if state.looked_ms is None else state.looked_ms)
    time = formatting.duration(silent_ms)
    if silent_ms > SILENT_MS:
        why = _("no look at the screen for %(time)s", time=time)
        return Part("capture", "bad", _("silent"), why, _("Restart Recollect."))
    return Part("capture", "ok", _(words), _("looked at the screen %(time)s ago", time=time))


def _lasting(state: CaptureState, now_ms: int) -> str:
    """For how long something is left out, and by which rule, else of which app."""
    if state.since_ms is None:
        return ""
    time = formatting.duration(max(0, now_ms - state.since_ms))
    if not state.cause:
        return _("For %(time)s now.", time=time)
    return _("For %(time)s now: %(cause)s.", time=time, cause=translated(state.cause))


def _translated(sentence: str, otherwise: str) -> str:
    """What a daemon says of itself; in a language that has no words for it, `otherwise`."""
    text = translated(sentence)
    return otherwise if text == sentence and language() != ENGLISH and otherwise else text


def _lifeless(state: CaptureState | IngestState, now_ms: int) -> str:
    return _("no sign of life for %(time)s", time=formatting.duration(now_ms - state.written_ms))


def ingest_part(own: Services, worker: IngestState | None, now_ms: int) -> Part:
    waiting = own.spool.waiting()
    value = _("%(number)s waiting", number=len(waiting))
    if worker is None or worker.state == "stopped":
        return Part("ingest", "bad", value, _("the ingest worker does not run"), _(_START))
    if not is_alive(worker, now_ms):
        return Part("ingest", "bad", value, _lifeless(worker, now_ms), _("Look at logs/ingest.log."))
    if worker.problem:
        why = _translated(worker.problem, _("what was recorded cannot be stored"))
        return Part("ingest", "bad", value, why, _("It is tried again by itself."))
    # Entries are named by their time.
    oldest_ms = now_ms - int(waiting[0].partition("-")[0]) if waiting else 0
    if waiting and oldest_ms > QUEUE_WARN_MS:
        verdict: Verdict = "bad" if oldest_ms > QUEUE_BAD_MS else "warn"
        why = _("the oldest has waited %(time)s", time=formatting.duration(oldest_ms))
        return Part("ingest", verdict, value, why)
    failed = sum(1 for _ in own.spool.failed())
    if failed:
        why = ngettext(
            "%(number)s capture could not be used and is set aside",
            "%(number)s captures could not be used and are set aside",
            failed,
        )
        return Part("ingest", "warn", value, why, _("`recollect ingest retry` tries them again."))
    return Part("ingest", "ok", value)


def index_part(database: Database, worker: IngestState | None, now_ms: int) -> Part:
    """How far the reading of text is behind, and whether anybody goes on reading."""
    pending = readings.count_pending(database)
    value = _("%(number)s to read", number=pending)
    if worker and worker.engine_problem:
        why = _translated(worker.engine_problem, _("text recognition lacks a part"))
        return Part("index", "warn", value, why, _("`recollect doctor` says what to install."))
    if pending and worker and worker.reads_per_minute > 0:
        minutes = pending / worker.reads_per_minute
        if minutes > BACKLOG_WARN_MIN:
            why = _("about %(hours).1f h of reading at this pace", hours=minutes / 60)
            return Part("index", "warn", value, why)
    if not pending:
        return Part("index", "ok", value)
    fresh_ms = readings.index_fresh_to_ms(database)
    why = ""
    if fresh_ms is not None:
        why = _("everything up to %(time)s ago is searchable", time=formatting.duration(now_ms - fresh_ms))
    if not is_alive(worker, now_ms):
        # A number that nobody brings down is not well, however small it is.
        return Part("index", "warn", value, why or _("nothing reads them"), _(_START))
    return Part("index", "ok", value, why)


def embedding_part(own: Services, worker: IngestState | None) -> Part:
    """How far search by meaning is behind; search by words is whole whatever it says."""
    waiting = vectors.count_missing(own.database)
    value = _("%(number)s to go", number=formatting.count(waiting, "text"))
    if own.embedder.is_off:
        return Part("meaning", "off", _("off"), _("search is by words"), _("Set embedding.engine to local."))
    problem = (worker.embedder_problem if worker else "") or own.embedder.problem
    if problem:
        return Part("meaning", "warn", value, translated(problem), _("Search by words is not affected."))
    if waiting >= vectors.COUNTED:
        value = _("more than %(value)s", value=value)
    return Part("meaning", "ok", value, _("the newest come first") if waiting else "")


def storage_part(own: Services) -> Part:
    """Room now and soon, and whether retention and backups do their work."""
    free, verdict, why = free_space(own.data_dir, own.capture.min_free_gb)
    entries, used = own.spool.usage()
    limits = own.settings.spool
    if verdict != "bad" and (entries >= limits.max_entries or used >= limits.max_gb * 1e9):
        return Part("storage", "bad", free, _("the spool is full"), _("See that ingest runs."))
    last = retention.runs(own.database, 1)
    if verdict == "ok" and last and last[0].problem:
        why = _("retention stopped: %(problem)s", problem=translated(last[0].problem))
        return Part("storage", "warn", free, why, _("It is tried again every hour; see Settings, Storage."))
    ahead = growth(own) if verdict == "ok" else None
    if ahead and ahead.months * _MONTH_DAYS < FULL_WARN_DAYS:
        days = formatting.count(round(ahead.months * _MONTH_DAYS), "day")
        why = _("at this pace there is room for %(days)s", days=days)
        action = _("Free some space, or set a limit under Settings, Storage.")
        return Part("storage", "warn", free, why, action)
    if verdict == "ok" and (old := _lacks_backup(own)):
        return Part("storage", "warn", free, old, _("`recollect backup` makes one, or says why not."))
    return Part("storage", verdict, free, why, why and _("Free some space on this disk."))


def _lacks_backup(own: Services) -> str:
    """Why there should be a newer backup; "" where there need not be."""
    if not own.settings.backup.keep or sample_week.is_sample(own.data_dir):
        return ""
    newest = next(iter(backup.listed(own.data_dir)), None)
    first = frames.nearest(own.database, 0)
    since_ms = newest[1].made_ms if newest else first.stored_ms if first else own.clock()
    days = (own.clock() - since_ms) // backup.DAY_MS
    if days < BACKUP_WARN_DAYS:
        return ""
    if newest:
        return _("the newest backup is %(days)s days old", days=days)
    return _("for %(days)s days there was no backup", days=days)


def growth(own: Services) -> retention.Growth | None:
    """What a month adds, and for how many there is room on the disk, or below the limit that was set."""
    room_bytes = shutil.disk_usage(own.data_dir.home).free - own.capture.min_free_gb * 1e9
    limit_gb = retention.chosen(own.database, own.settings.retention).max_gb
    if limit_gb:
        room_bytes = min(room_bytes, limit_gb * 1e9 - retention.media_bytes(own.database))
    return retention.growth(own.database, room_bytes, own.clock())


def model_part(own: Services) -> Part:
    """What is configured; an endpoint is asked only when a question comes."""
    chosen = next((model for model in own.chat_models.describe() if model.is_default), None)
    if chosen is None or not chosen.base_url:
        why = _("answers are quoted and counted from your frames, not written")
        return Part("model", "off", _("no model"), why, _("Add one under Settings, Models and voices."))
    if totals.last_turn_status(own.database) == "failed":
        return Part("model", "warn", chosen.name, _("the last question failed"), _("See `recollect doctor`."))
    return Part("model", "ok", chosen.name, _("asked when a question comes"))


def canary_part(database: Database) -> Part:
    """Search for a word of the newest frame that has one: it must be found."""
    frame_id, word = _newest_word(database)
    if frame_id is None:
        return Part("canary", "off", _("nothing to look for"), _("no frame with words has been read yet"))
    at_ms = frames.captured_ms_of(frame_id)
    page = search(database, f'"{word}"', Filters(at_ms, at_ms + 1), order="newest", limit=200)
    if any(hit.frame_id == frame_id for hit in page.hits):
        frame = frames.get(database, frame_id)
        begun_ms = at_ms if frame.source == "screen" else frame.stored_ms  # where it was not brought in later
        read_ms = frame.read_ms or begun_ms
        why = _(
            "a search for a word of the newest frame finds it: captured, stored, read, found within %(time)s",
            time=formatting.duration(read_ms - begun_ms),
        )
        return Part("canary", "ok", _("found"), why)
    why = _("a search for a word of the newest frame does not find it")
    return Part("canary", "bad", _("not found"), why, _("`recollect verify` compares index and frames."))


def _newest_word(database: Database) -> tuple[int | None, str]:
    for frame_id in totals.newest_read(database, _CANARY_LOOKBACK):
        reading = readings.current_reading(database, frame_id)
        words = tokenizer.tokens(reading.text) if reading else []
        if words:
            return frame_id, max(words, key=lambda token: len(token.text)).text
    return None, ""


# -- the indicator: REC only when a look succeeded lately; what is not known counts as not recording --

BEHIND_FRAMES = 100
"""So many frames waiting for their text are worth saying."""

Kind = Literal["ok", "warn", "danger", "plain"]


@dataclass(frozen=True, slots=True)
class IndicatorState:
    """A few words and their colour; `detail` is a sentence for the curious."""

    kind: Kind
    word: str
    icon: str
    detail: str = ""
    address: str = "/status"


def recording_indicator(own: Services) -> IndicatorState:
    """The state of this moment."""
    now_ms, folder = own.clock(), own.data_dir.spool
    if sample_week.is_sample(own.data_dir):
        # On every page, so that nobody takes what never happened for what did.
        last = frames.nearest(own.database, now_ms)
        detail = _("Made up by `recollect demo`; nothing is recorded into this home folder.")
        address = f"/timeline?at={last.captured_ms}" if last else "/status"
        return IndicatorState("plain", _("Sample week"), "calendar", detail, address)
    waiting = readings.count_pending(own.database)
    state = CaptureState.read(folder)
    light = indicator_state(state, read_pause(folder, now_ms), waiting, now_ms)
    elsewhere = recorded_elsewhere(own, now_ms)
    if elsewhere and light.kind == "danger":  # a fault where this machine was to record as well
        is_meant = state is None or state.state == "stopped"
        light = replace(light, kind="ok" if is_meant else "warn", word=_("REC elsewhere"))
    # A pause that another machine has not heard of yet is no pause of everything.
    detail = "" if elsewhere and light.icon == "pause" else light.detail
    return replace(light, detail=f"{detail} {elsewhere}".strip())


def recorded_elsewhere(own: Services, now_ms: int) -> str:
    """Which other machines record into this home, as they said just now."""
    heard_of = (host for host in hosts.listed(own.database) if _is_fresh(host.seen_ms, now_ms))
    names = _(", ").join(host.name for host in heard_of if not host.problem)
    return _("Recording into this home folder: %(machines)s.", machines=names) if names else ""


def indicator_state(
    state: CaptureState | None, pause: Pause | None, waiting: int, now_ms: int
) -> IndicatorState:
    """What these facts allow to say."""
    if pause is not None:
        words = _("Paused until you resume")
        if pause.ends_ms is not None:
            words = _("Paused %(time)s left", time=formatting.duration(pause.ends_ms - now_ms))
        return IndicatorState("warn", words, "pause", _("Nothing is recorded while paused."))
    if state is None:
        detail = _("Capture has not run in this home folder yet.")
        return IndicatorState("danger", _("Not recording"), "alert", detail)
    if state.state == "locked" and _is_fresh(state.written_ms, now_ms):
        detail = _("Recording goes on when the screen is unlocked.")
        return IndicatorState("plain", _("Screen locked"), "lock", detail)
    if state.state == "excluded" and _is_fresh(state.written_ms, now_ms):
        detail = _("Nothing is recorded while this window is in view.")
        detail = f"{detail} {_lasting(state, now_ms)}".strip()
        return IndicatorState("plain", _("Left out here"), "shield", detail)
    if not _is_fresh(state.looked_ms, now_ms):
        words = _("Not recording")
        if state.looked_ms is not None:
            words = _("Not recording %(time)s", time=formatting.duration(now_ms - state.looked_ms))
        return IndicatorState("danger", words, "alert", _(state.detail))
    if waiting >= BEHIND_FRAMES:
        frames_waiting = formatting.count(waiting, "frame")
        detail = _("Recording; still to be read: %(frames)s.", frames=frames_waiting)
        return IndicatorState("warn", _("Behind %(number)s", number=f"{waiting:,}"), "clock", detail)
    assert state.looked_ms is not None
    ago = _("REC %(time)s ago", time=formatting.duration(now_ms - state.looked_ms))
    return IndicatorState("ok", ago, "", _(state.detail))


def _is_fresh(ms: int | None, now_ms: int) -> bool:
    return ms is not None and now_ms - ms <= SILENT_MS
