"""Settings, Recording: what is recorded and how often, and in which languages it is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import NamedTuple

from babel import Locale
from babel.core import get_global
from flask import request
from werkzeug.wrappers import Response

from engines.ocr import tesseract
from store.core.preferences import choose_reading_languages, reading_languages
from store.core.settings import CaptureSettings
from store.core.translation import gettext as _
from store.core.translation import language
from store.privacy import rules as privacy
from store.spool import process_state
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import Services, services

_CHANGEABLE = ("monitors", "interval_s", "idle_interval_s", "idle_after_s", "accessible_text", "min_free_gb")
"""What a person may want to change of capture: it is read at the start, so the page shows how."""


class _Language(NamedTuple):
    code: str
    name: str
    is_chosen: bool
    install: str
    """The command that gets its data, "" where that is here."""


@templating.get("/settings/recording")
def show_recording() -> Response:
    """What is recorded, how often, and how to change what takes a restart."""
    own = services()
    rules = privacy.load_rules(own.data_dir, own.settings.privacy)
    return templating.render_page(
        "settings/recording.html",
        pause=process_state.read_pause(own.data_dir.spool, own.clock()),
        state=process_state.CaptureState.read(own.data_dir.spool),
        worker=process_state.IngestState.read(own.data_dir.spool),
        capture=own.settings.capture,
        monitors=own.settings.capture.monitors,
        languages=_languages(own),
        install_korean=tesseract.install_command(["kor"]),
        excluded=len(rules.rules),
        defaults=rules.defaults,
        config=own.data_dir.config,
        toml=list(_as_toml(own.settings.capture)),
    )


@templating.post("/settings/recording")
def save_recording() -> Response:
    """Read text in the languages of the form from the next frame on."""
    own, wanted = services(), request.form.getlist("language")
    codes = [each.code for each in _languages(own) if each.code in wanted]
    if not codes:
        error = "language", _("choose one at least")
        raise Problem(422, "invalid_language", _("No language is chosen."), errors=(error,))
    choose_reading_languages(own.database, codes, own.settings.ocr)
    return templating.redirect_to("/settings/recording#languages")


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


def _readable(own: Services) -> tuple[str, ...]:
    """What the engine at work reads, or Tesseract with the data found here. None is opened for a page."""
    worker = process_state.IngestState.read(own.data_dir.spool)
    if worker is None or worker.engine != "rapidocr":
        return tesseract.installed_languages()
    from engines.ocr.rapidocr import LANGUAGES  # numpy, and much else

    return LANGUAGES


def _as_toml(section: CaptureSettings) -> Iterator[tuple[str, str, str]]:
    """(key, value as TOML writes it, help) of settings; such values are written alike in JSON."""
    for each in fields(section):
        if each.name in _CHANGEABLE:
            value = json.dumps(getattr(section, each.name), ensure_ascii=False)
            yield each.name, value, _(each.metadata["help"])


def language_name(code: str) -> str:
    """A language of Tesseract: ``chi_sim`` is Chinese (simplified)."""
    base, __, script = code.partition("_")
    name: str = Locale.parse(language()).languages.get(get_global("language_aliases").get(base, base), code)
    scripts = {
        "sim": _("%(language)s (simplified)", language=name),
        "tra": _("%(language)s (traditional)", language=name),
    }
    return scripts.get(script, name)
