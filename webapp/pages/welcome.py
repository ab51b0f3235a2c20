"""The first-run page, which is also the later setup check: what is recorded, and what still wants a hand."""

from __future__ import annotations

from dataclasses import dataclass

from werkzeug.wrappers import Response

from store.core import preferences
from store.frames import frames
from store.frames.frames import FrameRow
from store.privacy import rules as privacy
from store.spool.process_state import read_capture_state, read_pause
from store.timeline import totals
from webapp.core import formatting, templating
from webapp.core.services import Services, Viewer, services, viewer
from webapp.ops import doctor
from webapp.ops.doctor import Check
from webapp.ops.health import SILENT_MS
from webapp.pages.privacy import browser_section

_TEN_MINUTES_MS = 600_000
_DAY_MS = 86_400_000
_LANGUAGES = {"eng": "English", "chi_sim": "Chinese", "chi_tra": "traditional Chinese", "deu": "German"}
_KINDS = {"OK": ("ok", "check"), "--": ("plain", "dash"), "!": ("warn", "alert"), "X": ("danger", "alert")}


@dataclass(frozen=True, slots=True)
class Row(Check):
    """A check with what stands beside it: `links` are (text, address) pairs."""

    links: tuple[tuple[str, str], ...] = ()
    frame: FrameRow | None = None


@templating.get("/welcome")
def show() -> Response:
    """The rows as they are now."""
    own, who = services(), viewer()
    return templating.render_page(
        "welcome/welcome.html",
        rows=setup_rows(own, who),
        kinds=_KINDS,
        home=str(own.data_dir.home),
        pause=read_pause(own.data_dir.spool, who.now_ms),
        has_frames=frames.nearest(own.database, who.now_ms) is not None,
    )


def setup_rows(own: Services, viewer: Viewer) -> list[Row]:
    """Every row, read afresh; none waits for another."""
    return [
        _recording(own, viewer),
        _left_out(own),
        _private_windows(own, viewer),
        _reading(own),
        _of_check("Answers", doctor.check_model(own.chat_models)),
        _time(viewer),
        _space(own, viewer),
    ]


def _recording(own: Services, viewer: Viewer) -> Row:
    state = read_capture_state(own.data_dir.spool)
    newest = frames.nearest(own.database, viewer.now_ms)
    if read_pause(own.data_dir.spool, viewer.now_ms):
        return Row("Recording", "!", "paused", "Resume when you are ready.", frame=newest)
    check = doctor.check_display(own.data_dir)
    if state is None or state.looked_ms is None or viewer.now_ms - state.looked_ms > SILENT_MS:
        return Row("Recording", check.verdict, check.sentence, check.action, frame=newest)
    monitors = formatting.count(len(state.monitors), "monitor")
    seen = f"newest frame {formatting.clock(newest.captured_ms, viewer.zone)}" if newest else "no frame yet"
    return Row("Recording", "OK", f"{monitors}, {seen}", frame=newest)


def _left_out(own: Services) -> Row:
    rules = privacy.load_rules(own.data_dir, own.settings.privacy)
    links = (("Rules", "/privacy"), ("Test a window", "/privacy#test"))
    if rules.unreadable:
        return Row(
            "Never recorded", "X", rules.unreadable, "Until they can be read, nothing is recorded.", links
        )
    parts = ["password managers and private windows"] if rules.defaults else []
    parts += [formatting.count(len(rules.rules), "rule") + " of your own"] if rules.rules else []
    sentence = "; ".join(parts) or "nothing is left out"
    known = "; a window that cannot be identified is left out" if rules.any else ""
    return Row("Never recorded", "OK" if rules.any else "!", sentence + known, "", links)


def _private_windows(own: Services, viewer: Viewer) -> Row:
    """How private windows of Chrome and its relatives are told apart."""
    rules = privacy.load_rules(own.data_dir, own.settings.privacy)
    browsers = browser_section(own, rules, viewer.now_ms)
    links = (("Choose", "/privacy#browsers"),)
    if browsers["problem"]:
        return Row("Private windows", "X", browsers["problem"], "", links)
    if not rules.defaults:
        return Row("Private windows", "!", "recorded, as you chose", "", links)
    if browsers["paired"]:
        names = " and ".join(browser.name for browser in browsers["paired"])
        silent = any(browser.is_silent for browser in browsers["paired"])
        sentence = f"the extension of {names} {'is silent' if silent else 'tells them apart'}"
        return Row("Private windows", "!" if silent else "OK", sentence, "", links)
    if browsers["masked"]:
        sentence = "left out, as is every browser window that nothing tells to be ordinary"
        return Row("Private windows", "OK", sentence, "", links)
    sentence = "windows of browsers that nothing tells to be ordinary are recorded, as you chose"
    return Row("Private windows", "!", sentence, "", links)


def _reading(own: Services) -> Row:
    """The engine with its languages; the first of the two that has a problem speaks."""
    engine = doctor.check_ocr(own.settings.ocr)
    languages = doctor.check_languages(own.settings.ocr)
    if engine.verdict == "OK" and languages.verdict == "OK":
        names = ", ".join(_LANGUAGES.get(name, name) for name in languages.sentence.split(", "))
        return Row("Reading text", "OK", f"{engine.sentence} reads {names}")
    return _of_check("Reading text", engine if engine.verdict != "OK" else languages)


def _of_check(name: str, check: Check) -> Row:
    return Row(name, check.verdict, check.sentence, check.action)


def _time(viewer: Viewer) -> Row:
    origin = {"server": ", from the server: this browser has not said", "chosen": ", chosen by you"}
    start = f"day starts {viewer.day_start_min // 60:02d}:00"
    name = f"{preferences.utc_offset(viewer.now_ms, viewer.zone)} {viewer.zone_name}"
    links = (("Change", "/settings/display"),)
    return Row("Time", "OK", f"{name}{origin.get(viewer.zone_origin, '')}, {start}", "", links)


def _space(own: Services, viewer: Viewer) -> Row:
    """What is free, and the pictures of the last day, once there is enough of it to tell."""
    check = doctor.check_disk(own.data_dir, own.settings)
    size, oldest = totals.pictures_between(own.database, viewer.now_ms - _DAY_MS, viewer.now_ms)
    pace = f"{formatting.size(size)} of pictures in the last day"
    if oldest is None or viewer.now_ms - oldest < _TEN_MINUTES_MS:
        pace = "too early to tell how much a day takes"
    return Row("Space", check.verdict, f"{check.sentence}; {pace}", check.action)
