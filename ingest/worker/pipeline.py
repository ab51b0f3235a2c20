"""Step one: a spool entry becomes a frame, or it is said why not.

Everything is computed first; then one transaction writes the row, its index entry, its activity
and its outcome. A capture whose outcome is known changes nothing, so that any step may be cut off
and done again (CAP-4):

- killed before `Media.keep`: nothing has happened;
- killed after it: the picture lies where the next try puts it again, byte for byte, and a try
  that ends differently (a rule excludes it now) removes it;
- killed after the commit: the outcome is known, the entry is only finished.

The text is read later (`ingest.reading.reader`): a frame is browsable before that. A frame with a window
that may be private is not: its toolbar is read first (`ingest.reading.incognito_badge`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ingest.core.home import Home
from ingest.core.records import checked_capture
from ingest.core.validation import InvalidImage, decode, read_checked
from ingest.observations import places
from ingest.reading.incognito_badge import BadgeReader, ReaderBusy
from ingest.worker import duplicates
from store.deletion import deletion
from store.frames import frames
from store.frames import tags as frame_tags
from store.frames.media import path_of, temporary_of
from store.privacy.rules import WindowFacts, load_rules
from store.spool.queue import Capture, Entry, LookReport
from store.timeline import ledger, sample_week, segments


class TryLater(Exception):
    """The entry is fine but cannot be judged at the moment; it stays in the queue."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of an entry.

    `outcome` is stored, deduplicated or excluded; ``known`` when it had been taken in before;
    ``report`` for a batch of decisions.
    """

    outcome: str
    frame_id: int | None = None
    captured_ms: int | None = None


def store_entry(home: Home, entry: Entry, now_ms: int, toolbars: BadgeReader | None = None) -> Result:
    """Store one claimed entry. Raises `Rejected`, `NotNow`, and what the store raises.

    `toolbars` reads those of windows that may be private; without it they cannot be stored.
    """
    if isinstance(entry.record, LookReport):
        return _take_in_report(home, entry.record)
    capture = checked_capture(entry.record)
    _refuse_mixing(home, capture)
    known = _known(home, capture)
    if known is not None:
        return known
    if entry.image is None or entry.folder.is_symlink():
        raise InvalidImage("not_a_file", "the entry is a link or has no picture")
    content = read_checked(entry.image, capture.image_type, capture.sha256)
    reason = _excluded_because(home, capture)
    if reason:
        return _exclude(home, capture, reason)
    if duplicates.may_be_duplicate(capture):
        image = decode(content, capture.image_type)
        same = duplicates.find_duplicate(home.database, home.media, capture, image)
        if same is not None:
            return _fold(home, capture, *same)
    if capture.toolbars:
        return _store_unless_private(home, capture, content, now_ms, toolbars)
    return _store(home, capture, content, now_ms)


def _take_in_report(home: Home, report: LookReport) -> Result:
    with home.database.write() as connection:
        ledger.add_report(connection, report)
    return Result("report")


def _refuse_mixing(home: Home, capture: Capture) -> None:
    """A sample week stays one, whoever writes into its spool: no answer mixes it with memories."""
    if (capture.source == sample_week.SOURCE) != sample_week.is_sample(home.data_dir):
        raise InvalidImage("sample_week", "a sample week and real captures never share a home folder")


def _excluded_because(home: Home, capture: Capture) -> str:
    """The rule's machine word when the person's rules leave this capture out, else "".

    A capture daemon decides on whole screens, with windows masked, before it writes (`batch_id`);
    asking again about the foreground window alone would get masked screens wrong. An import or an
    upload that names no window is an explicit act: not knowing its window is no reason to refuse.
    """
    if capture.batch_id is not None:
        return ""
    window = WindowFacts(capture.app_name, capture.window_name, capture.browser_url)
    decision = load_rules(home.data_dir, home.settings.privacy).decide(window)
    if decision.reason == "rules_unreadable":
        raise TryLater(decision.detail)
    return "" if decision.reason == "unknown_window" else decision.reason


def _store_unless_private(
    home: Home, capture: Capture, content: bytes, now_ms: int, toolbars: BadgeReader | None
) -> Result:
    """Some window in this picture may be private: its toolbar tells."""
    if toolbars is None:
        return _exclude(home, capture, "may_be_private")
    reason = _private_by_toolbar(toolbars, capture, content)
    if not reason:
        result = _store(home, capture, content, now_ms)
        if result.outcome == "stored" and result.frame_id is not None:
            toolbars.stored(capture.toolbars, result.frame_id, capture.captured_ms)
        return result
    earlier = toolbars.take_since_read(capture.toolbars)
    if earlier:
        deletion.delete_skipped(home.database, home.media, earlier, reason)
    return _exclude(home, capture, reason)


def _private_by_toolbar(toolbars: BadgeReader, capture: Capture, content: bytes) -> str:
    """Why a window keeps this picture from being stored, or ""."""
    if toolbars.is_known_private(capture.toolbars):
        return "private_window"
    if not toolbars.is_due(capture.toolbars, capture.captured_ms):
        return ""
    try:
        image = decode(content, capture.image_type)
        return toolbars.judge(capture.toolbars, image, capture.captured_ms)
    except ReaderBusy as error:
        raise TryLater(str(error)) from error


def _store(home: Home, capture: Capture, content: bytes, now_ms: int) -> Result:
    try:
        still = home.media.keep(content, capture.image_type, capture.captured_ms, capture.capture_id)
    except (ValueError, SyntaxError) as error:
        raise InvalidImage("bad_picture", f"the {capture.image_type} is damaged or cut short") from error
    with home.database.write() as connection:
        known = _known(home, capture)
        if known is None:
            ledger.clear_failure(connection, capture)
            frame_id = frames.insert(connection, capture, still, now_ms)
            segments.heartbeat(connection, frames.get(home.database, frame_id))
            tags = places.tags(capture.app_name, capture.window_name, capture.browser_url)
            frame_tags.add_by_rule(connection, frame_id, tags, now_ms)
            return Result("stored", frame_id, capture.captured_ms)
    _sweep(home, capture)
    return known


def _fold(home: Home, capture: Capture, earlier: frames.FrameRow, likeness: duplicates.Likeness) -> Result:
    with home.database.write() as connection:
        known = _known(home, capture)
        if known is not None:
            return known
        if frames.extend(connection, earlier.capture_id, capture.captured_ms) is None:
            raise TryLater("the frame that shows the same picture has just been deleted")
        segments.extend(connection, earlier.id, capture.captured_ms)
        ledger.record_skipped(connection, capture, "deduplicated", likeness, frame_id=earlier.id)
    _sweep(home, capture)
    return Result("deduplicated", earlier.id, capture.captured_ms)


def _exclude(home: Home, capture: Capture, reason: str) -> Result:
    with home.database.write() as connection:
        ledger.record_skipped(connection, capture, "excluded", reason)
    _sweep(home, capture)
    return Result("excluded", None, capture.captured_ms)


def _known(home: Home, capture: Capture) -> Result | None:
    """The outcome that stands: stored before, or deleted while it waited (asked again before the
    row is written). A failure does not stand: somebody asked for another try.
    """
    outcome = frames.outcome(home.database, capture.capture_id)
    if outcome is None or outcome.outcome == "failed":
        return None
    return Result("known", outcome.frame_id, capture.captured_ms)


def _sweep(home: Home, capture: Capture) -> None:
    """Remove the picture that this try, or one that was cut off, has filed for nothing."""
    if frames.by_capture_id(home.database, capture.capture_id) is None:
        path = path_of(capture.image_type, capture.captured_ms, capture.capture_id)
        home.media.remove([path, temporary_of(path)])
