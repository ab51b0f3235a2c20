"""Settings, Recording: what is recorded and how often, and in which languages it is read."""

from __future__ import annotations

import difflib
import math
import shutil
from collections.abc import Mapping
from typing import Any, NamedTuple

from babel import Locale
from babel.core import get_global
from flask import request
from werkzeug.wrappers import Response

from engines.ocr import languages, tesseract
from store.core import recording
from store.core.errors import SettingsError
from store.core.preferences import choose_reading_languages, reading_languages
from store.core.translation import gettext as _
from store.core.translation import language
from store.privacy import rules as privacy
from store.spool import process_state
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import Services, services
from webapp.ops import health


class _Language(NamedTuple):
    code: str
    name: str
    is_chosen: bool
    install: str
    """The command that gets its data, "" where that is here."""


class _Monitor(NamedTuple):
    name: str
    is_chosen: bool
    is_connected: bool


class _Amount(NamedTuple):
    """A number of capture's settings: `scale` of what is stored make one `unit`."""

    name: str
    title: str
    help: str
    unit: str
    scale: float
    low: float
    high: float

    def shown(self, value: float) -> str:
        return f"{value / self.scale:.10g}"


@templating.get("/settings/recording")
def show_recording() -> Response:
    """What is recorded, how often, and in which languages it is read."""
    return _page()


@templating.post("/settings/recording")
def save_recording() -> Response:
    """Record as the form says from the next look on."""
    own, form = services(), request.form
    values, shown, errors = _chosen_amounts(own)
    names = form.getlist("monitor")
    known = {each.name for each in _monitors(own)}
    if unknown := [name for name in names if name not in known]:
        near = difflib.get_close_matches(unknown[0], sorted(known), n=1, cutoff=0.0)
        errors["monitors"] = _(
            "There is no monitor %(name)s; did you mean %(near)s?", name=unknown[0][:60], near=", ".join(near)
        )
    elif form.getlist("offered") and not names:
        errors["monitors"] = _("Choose one at least. To record nothing, pause.")
    if errors:
        return _page(422, names, shown, errors)
    is_all = set(names) >= set(form.getlist("offered"))
    values["monitors"] = [] if is_all else names
    recording.choose(own.data_dir, values, own.settings.capture)
    return templating.redirect_to("/settings/recording#recorded")


@templating.post("/settings/recording/languages")
def save_languages() -> Response:
    """Read text in the languages of the form from the next frame on."""
    own, wanted = services(), request.form.getlist("language")
    codes = [each.code for each in _languages(own) if each.code in wanted]
    if not codes:
        error = "language", _("choose one at least")
        raise Problem(422, "invalid_language", _("No language is chosen."), errors=(error,))
    choose_reading_languages(own.database, codes, own.settings.ocr)
    return templating.redirect_to("/settings/recording#languages")


def _page(
    status: int = 200,
    names: list[str] | None = None,
    shown: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Response:
    own = services()
    rules = privacy.load_rules(own.data_dir, own.settings.privacy)
    amounts = _amounts(own)
    now = {each.name: each.shown(getattr(own.capture, each.name)) for each in amounts}
    return templating.render_page(
        "settings/recording.html",
        status,
        pause=process_state.read_pause(own.data_dir.spool, own.clock()),
        elsewhere=health.recorded_elsewhere(own, own.clock()),
        problem=_problem(own),
        worker=process_state.IngestState.read(own.data_dir.spool),
        given=own.settings.capture.given,
        monitors=_monitors(own, names),
        amounts=amounts,
        shown={**now, **(shown or {})},
        errors=errors or {},
        languages=_languages(own),
        languages_given=own.settings.ocr.given,
        example=_example(own),
        excluded=len(rules.rules),
        defaults=rules.defaults,
    )


def _problem(own: Services) -> str:
    """Why nothing is recorded as it was chosen."""
    try:
        recording.chosen(own.data_dir, own.settings.capture)
    except SettingsError as error:
        return str(error)
    return ""


def _amounts(own: Services) -> list[_Amount]:
    """Numbers that a person chooses. A floor above the whole disk would end recording for good."""
    pace = _("At most one frame of each monitor in this time. A switch of app or window is kept at once.")
    away = _("Time without keyboard or mouse for so long enters no total; recording goes on")
    space = _("Recording stops while less of the disk is free, and the recording light says so")
    disk_gb = math.floor(shutil.disk_usage(own.data_dir.home).total / 1e9)
    return [
        _Amount("interval_s", _("Pace"), pace, _("seconds a frame"), 1, 0.1, 3600),
        _Amount("idle_after_s", _("Away"), away, _("minutes"), 60, 0.5, 1440),
        _Amount("min_free_gb", _("Space to leave free"), space, _("GB"), 1, 0, disk_gb),
    ]


def _chosen_amounts(own: Services) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """The numbers of the form as they are stored, as they are shown again, and what is wrong with them."""
    values: dict[str, Any] = {}
    shown: dict[str, str] = {}
    errors: dict[str, str] = {}
    for each in _amounts(own):
        now = getattr(own.capture, each.name)
        text = request.form.get(each.name, each.shown(now)).strip().replace(",", ".")
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        near = min(max(number, each.low), each.high) if math.isfinite(number) else now / each.scale
        if near != number:
            errors[each.name] = _(
                "“%(text)s” cannot be: a number from %(low)s to %(high)s. %(near)s is filled in.",
                text=text[:20], low=f"{each.low:g}", high=f"{each.high:g}", near=f"{near:.10g}",
            )  # fmt: skip
        values[each.name] = near * each.scale
        shown[each.name] = f"{near:.10g}"
    return values, shown, errors


def _monitors(own: Services, names: list[str] | None = None) -> list[_Monitor]:
    """Those that are connected, as capture said last, and those that were chosen; ticked as `names` says."""
    state, chosen = process_state.CaptureState.read(own.data_dir.spool), own.capture.monitors
    connected = () if state is None else state.connected
    return [
        _Monitor(name, (not chosen or name in chosen) if names is None else name in names, name in connected)
        for name in dict.fromkeys((*connected, *chosen))
    ]


def _languages(own: Services) -> list[_Language]:
    """Those that are chosen, in their order, then by name the others that can be read here."""
    chosen = reading_languages(own.database, own.settings.ocr)
    here = _readable(own)
    missing = {code: tesseract.install_command([code]) for code in chosen if code not in here}
    others = sorted((language_name(code), code) for code in here if code not in chosen)
    return [
        *(_Language(code, language_name(code), True, missing.get(code, "")) for code in chosen),
        *(_Language(code, name, False, "") for name, code in others),
    ]


def unread(own: Services) -> list[str]:
    """Codes of the languages of this system and browser that text is not read in."""
    chosen = reading_languages(own.database, own.settings.ocr)
    of_person = languages.of_person(request.accept_languages.values())
    return [code for code in of_person if code not in chosen]


def install(own: Services, code: str) -> str:
    """The command that gets a language's data, "" where that is here."""
    return "" if code in _readable(own) else tesseract.install_command([code])


def _example(own: Services) -> tuple[str, str]:
    """A language that is not here, the person's own if there is one, and the command that gets it."""
    code = next((code for code in unread(own) if install(own, code)), "kor")
    return language_name(code), tesseract.install_command([code])


def _readable(own: Services) -> tuple[str, ...]:
    """What the engine at work reads, or Tesseract with the data found here. None is opened for a page."""
    worker = process_state.IngestState.read(own.data_dir.spool)
    if worker is None or worker.engine != "rapidocr":
        return tesseract.installed_languages()
    from engines.ocr.rapidocr import LANGUAGES  # numpy, and much else

    return LANGUAGES


def language_name(code: str) -> str:
    """A language of Tesseract: ``chi_sim`` is Chinese (simplified)."""
    base, __, script = code.partition("_")
    name: str = Locale.parse(language()).languages.get(get_global("language_aliases").get(base, base), code)
    scripts = {
        "sim": _("%(language)s (simplified)", language=name),
        "tra": _("%(language)s (traditional)", language=name),
    }
    return scripts.get(script, name)
