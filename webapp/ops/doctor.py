"""Does everything work here, and if not, what to do: the lines of `recollect doctor`.

The welcome page shows the same lines. A verdict is one of four words: ``OK``, ``--`` (optional,
not set), ``!`` (works, but) and ``X`` (does not work); ``!`` and ``X`` come with one action.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Literal

from assistant.core.errors import turn_error
from assistant.core.models import ChatModels
from engines.chat.network import public_url
from engines.chat.protocol import ModelError, ModelFailed, ModelMalformed, ModelRefused, ModelUnreachable
from engines.chat.servers import list_models
from engines.embeddings import multilingual
from engines.embeddings.encoding import install_command
from engines.embeddings.protocol import EmbedderOptions, EmbeddingError, open_embedder
from engines.ocr import languages, tesseract
from engines.ocr.protocol import OcrUnavailable, open_ocr
from engines.registry import UnknownName
from store.backup.backup import advice
from store.core import recording, times
from store.core.database import open_database
from store.core.errors import DatabaseDamaged, DeadlineExceeded, SettingsError, StoreError
from store.core.paths import DataDir
from store.core.preferences import host_zone, reading_languages
from store.core.settings import CompatSettings, EmbeddingSettings, OcrSettings, Settings
from store.core.times import now_ms
from store.core.translation import gettext as _
from store.egress import access_log
from store.egress.egress_log import EgressRecorder, RequestContext
from store.embeddings import vectors
from store.sources.hosts import SKEW_SHOWN_MS
from store.spool import process_state
from store.timeline import totals
from store.timeline.sample_week import is_sample
from webapp.core import formatting
from webapp.ops import health
from webapp.ops.control import free_space

Verdict = Literal["OK", "--", "!", "X"]

DAY_MS = 86_400_000
_MODEL_TIMEOUT_S = 5.0
_CHINESE = "中文"


@dataclass(frozen=True, slots=True)
class Check:
    """One line: what was looked at, the verdict, a sentence, and what to do (empty when fine)."""

    name: str
    verdict: Verdict
    sentence: str
    action: str = ""


def check_all(data_dir: DataDir, settings: Settings) -> list[Check]:
    """Every check, in the order in which a frame travels. Takes seconds: a model is asked."""
    ocr = _chosen_in_app(data_dir, settings.ocr)
    return [
        check_display(data_dir, settings.capture.source),
        check_windows(data_dir),
        *check_sender(data_dir),
        check_ocr(ocr),
        check_embeddings(data_dir, settings.embedding),
        *check_worker(data_dir),
        check_model(ChatModels(settings.chat, data_dir=data_dir)),
        check_disk(data_dir, settings),
        check_folder(data_dir),
        check_database(data_dir),
        check_canary(data_dir),
        check_integrations(data_dir, settings.compat),
    ]


def check_capture(data_dir: DataDir) -> Check:
    """What capture last said of the screen."""
    state = process_state.CaptureState.read(data_dir.spool)
    if state and process_state.is_alive(state, now_ms()):
        if state.state == "failing":
            sentence = _(state.detail) or state.reason
            return Check("Display", "X", sentence, _("The screen is tried again by itself."))
        monitors = _(", ").join(state.monitors) or _("no monitor yet")
        cause = state.cause or _(state.detail)  # a window's rule, or why nothing is recorded
        return Check("Display", "OK", f"{state.state}, {monitors}{': ' if cause else ''}{cause}")
    if is_sample(data_dir):
        return Check("Display", "--", _("nothing is recorded into a sample week"))
    return Check("Display", "--", _("capture is not running"), _("Start it with `recollect up`."))


def check_display(data_dir: DataDir, source: str = "screen") -> Check:
    """The same; without a daemon, whether there is a display at all."""
    check = check_capture(data_dir)
    if check.verdict != "--" or is_sample(data_dir):
        return check
    if source != "screen":
        return Check("Display", "--", _("not looked at: pictures come from %(source)s", source=source))
    has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not has_display:
        sentence = _("No display found: neither DISPLAY nor WAYLAND_DISPLAY is set.")
        action = _(
            "Start Recollect from a desktop session, or set capture.source to folder:DIR or video:FILE."
        )
        return Check("Display", "X", sentence, action)
    return check


def check_windows(data_dir: DataDir) -> Check:
    state = process_state.CaptureState.read(data_dir.spool)
    if state is None or not state.window_source:
        return Check("Windows", "--", "known once capture runs")
    return Check("Windows", "OK", f"app and title come from {state.window_source}")


def check_sender(data_dir: DataDir) -> list[Check]:
    """How handing in to a server goes; nothing on a machine that keeps what it captures."""
    state = process_state.SenderState.read(data_dir.spool)
    if state is None:
        return []
    accepted = "nothing accepted yet"
    if state.accepted_ms is not None:
        accepted = f"last accepted {times.rfc3339(state.accepted_ms, host_zone())}"
    sentence = f"to {state.server}; {accepted}; waiting: {state.waiting}, set aside: {state.refused}"
    daemon = process_state.CaptureState.read(data_dir.spool)
    if not process_state.is_alive(daemon, now_ms()):
        return [Check("Handing in", "--", f"{sentence}; capture is not running", "Start it as before.")]
    if state.problem:
        mended = "Once that is mended, it goes on by itself."
        return [Check("Handing in", "!", f"{state.problem}; {sentence}", mended)]
    if abs(state.skew_ms) > SKEW_SHOWN_MS:
        apart = f"the server's clock is {state.skew_ms / 1000:+.0f} s from this one"
        return [Check("Handing in", "!", f"{sentence}; {apart}", "Set the clock that is wrong.")]
    if state.refused:
        action = "spool/failed says why; `recollect ingest retry` hands them in again."
        return [Check("Handing in", "!", sentence, action)]
    return [Check("Handing in", "OK", sentence)]


def _chosen_in_app(data_dir: DataDir, settings: OcrSettings) -> OcrSettings:
    """With the languages that were chosen there."""
    try:
        return replace(settings, languages=reading_languages(open_database(data_dir), settings))
    except StoreError:  # `check_database` says it
        return settings


def check_ocr(settings: OcrSettings) -> Check:
    """Whether an engine reads all the languages that were asked for, else which of them it reads."""
    if settings.engine == "off":
        return Check("Reading text", "--", "switched off by ocr.engine", "Set ocr.engine to auto.")
    name, problem = _opened(settings, settings.languages)
    if name:
        sentence = f"{name}: {', '.join(settings.languages)}"
        if unread := [code for code in languages.of_person() if code not in settings.languages]:
            sentence += f"; not {', '.join(unread)}, as the system is set to"
            is_here = set(unread).issubset(tesseract.installed_languages())
            install = "" if is_here else f"Run `{tesseract.install_command(unread)}`. "
            return Check("Reading text", "!", sentence, f"{install}Choose it under Settings, Recording.")
        return Check("Reading text", "OK", sentence)
    readable = [language for language in settings.languages if _opened(settings, [language])[0]]
    missing = [language for language in settings.languages if language not in readable]
    sentence = f"{', '.join(missing)} cannot be read; {', '.join(readable) or 'none'} could"
    return Check("Reading text", "X", sentence, problem)


def _opened(settings: OcrSettings, languages: Sequence[str]) -> tuple[str, str]:
    """The name of the engine that reads these languages, else what there is to do."""
    try:
        with closing(open_ocr(settings.engine, languages)) as engine:
            return engine.name, ""
    except (OcrUnavailable, UnknownName) as error:
        return "", str(error)


def check_embeddings(data_dir: DataDir, settings: EmbeddingSettings) -> Check:
    """Whether search by meaning has its model, and how much still waits for vectors.

    An endpoint is asked for that, which is noted like any other request.
    """
    if settings.engine == "off":
        return Check("Meaning", "--", "search is by words alone", "Set embedding.engine to local.")
    try:
        database = open_database(data_dir)
        notes = EgressRecorder(database, now_ms, RequestContext("test", "embedding"))
        options = EmbedderOptions(
            settings.model, settings.base_url, settings.api_key, settings.timeout_s,
            notes if settings.base_url else None,
        )  # fmt: skip
        with closing(open_embedder(settings.engine, options)) as embedder:
            name = embedder.name
            is_english_only = not settings.model and not embedder.reads(_CHINESE)
        waiting = vectors.count_missing(database)
        stored = next((model.name for model in vectors.models(database) if model.is_active), name)
    except EmbeddingError as error:
        return Check("Meaning", "!", "No model answers: search is by words alone.", str(error))
    except StoreError as error:
        return Check("Meaning", "!", f"The database cannot be used: {error}", "See Database below.")
    sentence = f"{name}, {'more than ' if waiting >= vectors.COUNTED else ''}{waiting} to embed"
    if stored != name:
        sentence += f"; what {stored} made is made anew"
        return Check("Meaning", "!", sentence, "Until `recollect up` has done so, search is by words alone.")
    worker = process_state.IngestState.read(data_dir.spool)
    if worker and worker.embedder_problem and process_state.is_alive(worker, now_ms()):
        problem = f"{sentence}; ingest says: {worker.embedder_problem}"
        return Check("Meaning", "!", problem, "It is tried again once a minute.")
    if is_english_only:
        return Check("Meaning", "!", f"{sentence}; English only", install_command(multilingual.PACKAGE))
    return Check("Meaning", "OK", sentence)


def check_worker(data_dir: DataDir) -> list[Check]:
    """What went wrong last while frames were stored, read and remembered, of the last day."""
    worker = process_state.IngestState.read(data_dir.spool)
    ago_ms = now_ms() - ((worker and worker.last_error_ms) or 0)
    if worker is None or ago_ms > DAY_MS:
        return []
    sentence = f"{worker.last_error}, {round(ago_ms / 60_000)} min ago"
    return [Check("Worker", "!", sentence, "Look at logs/ingest.log.")]


def check_model(models: ChatModels) -> Check:
    """Whether the model that answers by default can be asked; its endpoint is asked for its list."""
    endpoint = models.endpoint(models.default)
    if endpoint.is_extractive:
        return _no_model(models)
    where = "" if endpoint.is_local else f"; excerpts of the screen go to {endpoint.host}"
    works = Check("Answers", "OK", f"{endpoint.name} at {public_url(endpoint.base_url)}{where}")
    if endpoint.key_problem:
        return Check("Answers", "X", f"{endpoint.name}: {endpoint.key_problem}", "Set it, or enter a key.")
    try:
        listed = list_models(endpoint.base_url, endpoint.api_key, timeout_s=_MODEL_TIMEOUT_S)
    except (ModelRefused, ModelMalformed):  # not every server lists its models
        return works
    except ModelError as error:
        failure = turn_error(error, "en")
        lasts = not error.is_temporary or isinstance(error, ModelUnreachable | ModelFailed)
        verdict: Verdict = "X" if lasts else "!"
        return Check("Answers", verdict, f"{endpoint.name}: {error.detail}", failure.action)
    if endpoint.model and listed and all(model.id != endpoint.model for model in listed):
        sentence = f"{endpoint.model} is not in the list of {public_url(endpoint.base_url)}"
        return Check("Answers", "!", sentence, "Test the model under Settings, Models.")
    return works


def _no_model(models: ChatModels) -> Check:
    if models.problem:
        action = _("Correct the file, or remove it and add the models again.")
        return Check("Answers", "X", models.problem, action)
    waiting = [info.name for info in models.listed() if not info.is_ready]
    if waiting:
        names = _(", ").join(waiting)
        sentence = _(
            "%(models)s: added, but not usable yet; answers are quoted from the screen", models=names
        )
        return Check("Answers", "!", sentence, _("Choose a model and allow its host under Settings, Models."))
    keyless = [f"{info.name}: {info.key_problem}" for info in models.listed() if info.key_problem]
    if keyless:
        return Check("Answers", "X", _("; ").join(keyless), _("Set it, or enter a key."))
    sentence = _("no model set: answers are quoted from the screen, not written")
    return Check("Answers", "--", sentence, _("Add a model under Settings, Models for written answers."))


def check_disk(data_dir: DataDir, settings: Settings) -> Check:
    try:
        floor_gb = recording.chosen(data_dir, settings.capture).min_free_gb
    except SettingsError as error:
        return Check("Space", "X", str(error), _("Choose again under Settings, Recording."))
    free, verdict, why = free_space(data_dir, floor_gb)
    if verdict == "ok":
        return Check("Space", "OK", free)
    verdicts: dict[str, Verdict] = {"bad": "X", "warn": "!"}
    return Check("Space", verdicts[verdict], f"{free}, {why}", _("Free some space on this disk."))


def check_folder(data_dir: DataDir) -> Check:
    """Whether only its owner can read the home folder."""
    if os.name != "nt" and stat.S_IMODE(data_dir.home.stat().st_mode) & 0o077:
        action = f"chmod 700 {data_dir.home}"
        return Check("Home folder", "X", f"other users can enter {data_dir.home}", action)
    sealed = "encrypted" if data_dir.encryption.exists() else "not encrypted by Recollect"
    return Check("Home folder", "OK", f"{data_dir.home}, {sealed}")


def check_database(data_dir: DataDir) -> Check:
    """SQLite's own check of the file."""
    try:
        database = open_database(data_dir)
        frames = formatting.count(totals.store_stats(database).frames, "frame")
        damage = totals.damage(database)
        if damage:
            raise DatabaseDamaged(f"{data_dir.database.name} is damaged: {damage}")
    except DeadlineExceeded:
        sentence = f"{frames}; it is too large to be checked here"
        return Check("Database", "!", sentence, "`recollect verify` checks it, however long that takes.")
    except StoreError as error:
        action = advice(data_dir, error) or "It was left as it is."
        return Check("Database", "X", str(error), action)
    return Check("Database", "OK", frames)


def check_canary(data_dir: DataDir) -> Check:
    """Whether a search finds a word of the newest frame that was read: it came the whole way."""
    try:
        part = health.canary_part(open_database(data_dir))
    except StoreError as error:
        return Check("From end to end", "--", f"not known: {error}")
    verdict: Verdict = "X" if part.verdict == "bad" else "OK" if part.verdict == "ok" else "--"
    return Check("From end to end", verdict, part.why, part.action)


def check_integrations(data_dir: DataDir, settings: CompatSettings) -> Check:
    """What other programs read in the last day, and whether one could without a token."""
    if settings.screenpipe_port and not settings.token_required:
        every = f"every program on this machine can read port {settings.screenpipe_port} without a token"
        action = "Set compat.token_required to true, and give the client the key."
        return Check("Other programs", "!", every, action)
    try:
        used = access_log.use_since(open_database(data_dir), now_ms() - DAY_MS)
    except StoreError as error:
        return Check("Other programs", "--", f"not known: {error}")
    if not used:
        return Check("Other programs", "--", "none has read anything in the last 24 hours")
    uses = (
        f"{use.door}: {formatting.count(use.calls, 'call')}, {use.returned} given, {use.withheld} withheld"
        for use in used
    )
    return Check("Other programs", "OK", f"in the last 24 hours {'; '.join(uses)}")
