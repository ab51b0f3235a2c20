"""Whether a request can become a turn, and with what range, zone and model (R3.2, R3.53, C1)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from assistant.context.background import PreparedContext, prepare
from assistant.context.packs import ContextRequest
from assistant.core.errors import (
    BadMessage,
    BadRange,
    BadSystemPrompt,
    BadTimezone,
    ModeUnavailable,
    NotAnInsight,
    TimeRangeRequired,
    UnknownChat,
)
from assistant.core.models import AnyModel, ChatModels
from assistant.core.records import (
    MAX_MESSAGE_CHARS,
    MAX_NOTE_CHARS,
    MAX_PROMPT_CHARS,
    Mode,
    TimeReading,
    TurnRequest,
)
from assistant.core.texts import estimate_tokens, language_of, question_words
from assistant.language import time_phrases
from assistant.language.time_phrases import Calendar, Found, Refusal
from assistant.turns import anchor_facts, attachments
from assistant.turns.anchor_facts import AnchorFacts
from assistant.turns.plan import TurnPlan, TurnServices
from assistant.turns.prompts import EVIDENCE_RULES
from engines.chat.extractive import ExtractiveModel
from store.chats import conversations, personas, prompts, records
from store.chats.personas import Persona, UnknownPersona
from store.chats.records import AnchoredChat
from store.core import times
from store.core.database import Database
from store.frames import apps
from store.memory import insights

MAX_LATER_MS = 60_000
"""A browser reads "today" a little before the question arrives: ends so near are the same."""


@dataclass(frozen=True, slots=True)
class _Range:
    start_ms: int
    end_ms: int
    reading: TimeReading


def admit(deps: TurnServices, request: TurnRequest) -> TurnPlan:
    """The settled question. Raises `TurnRefused`, saying which field is at fault."""
    message = request.message.strip()
    if not message:
        raise BadMessage("the message is empty")
    if len(message) > MAX_MESSAGE_CHARS:
        raise BadMessage(f"the message is longer than {MAX_MESSAGE_CHARS} characters")
    zone = _zone(request.timezone)
    model = deps.models.get(request.model)
    anchored = _about(deps, request, zone)
    if anchored and anchor_facts.is_label(message):  # its time is the anchor's, not a range to look at
        mentioned, understood = Mentions(None, False, ""), None
    else:
        mentioned = _mentions(deps, message)
        calendar = Calendar(request.now_ms, zone, request.day_start_min, request.week_start)
        understood = time_phrases.in_message(mentioned.rest, calendar)
    can_use_tools = deps.agent is not None and uses_tools(deps.models, model)
    attached = attachments.resolve_attachments(deps, request)
    attachments.check_images(deps, request, model, attached, uses_tools=can_use_tools)
    # Nothing but a turn with tools looks at an image.
    mode = "agent" if attached.images else request.mode
    chosen = _chosen(replace(request, mode=mode), model, mentioned, understood, anchored, can_use_tools)
    voice = resolve_voice(deps.database, request)
    topic = mentioned.rest.replace(understood.phrase, " ") if understood else mentioned.rest
    filters = request.filters
    if mentioned.app and not filters.app_name:
        filters = replace(filters, app_name=mentioned.app)
    told = _context(deps, request, message, voice.identity, model, chosen.mode)
    return TurnPlan(
        context=told,
        pack=told.system_augmentation,
        session_id=request.session_id,
        message=message,
        language=language_of(message),
        words=question_words(topic),
        start_ms=chosen.range.start_ms if chosen.range else 0,
        end_ms=chosen.range.end_ms if chosen.range else request.now_ms,
        timezone=request.timezone,
        zone=zone,
        now_ms=request.now_ms,
        filters=filters,
        model=model,
        identity=voice.identity,
        persona=voice.persona,
        style_note=voice.style_note,
        model_prompt=prompts.get_prompt(deps.database, model.name),
        chat_id=None if request.amend else request.chat_id,
        about=anchored,
        reading=chosen.range.reading if chosen.range else TimeReading(),
        searched_for=" ".join(topic.split()),
        without=frozenset(request.without),
        mode=chosen.mode,
        has_range=chosen.range is not None,
        is_bounded=request.start_ms is not None,
        first_call=request.first_call if chosen.mode == "agent" else None,
        attached=attached,
        previous_response_id=request.previous_response_id,
    )


@dataclass(frozen=True, slots=True)
class _Chosen:
    mode: Mode
    range: _Range | None


def _chosen(
    request: TurnRequest,
    model: AnyModel,
    mentioned: Mentions,
    understood: Found | Refusal | None,
    anchored: AnchorFacts | None,
    can_use_tools: bool,
) -> _Chosen:
    """Evidence mode wherever there is a range, unless tools are asked for; tools without one (C1).

    Where a conversation is about a frame or a moment, that is what a model without tools looks at.
    """
    if request.mode == "agent" and not can_use_tools:
        raise ModeUnavailable(model.name)
    try:
        found = _range(request, mentioned, understood)
    except TimeRangeRequired as error:
        if anchored and error.problem == "missing" and (request.mode == "evidence" or not can_use_tools):
            return _Chosen("evidence", _Range(*anchored.range_ms, TimeReading()))
        # Of a time to come nothing is recorded, but a calendar may tell.
        if request.mode == "evidence" or not can_use_tools or error.problem not in ("missing", "future"):
            raise
        return _Chosen("agent", None)
    return _Chosen(request.mode or "evidence", found)


def _about(deps: TurnServices, request: TurnRequest, zone: ZoneInfo) -> AnchorFacts | None:
    """What the conversation is about. Raises `UnknownChat` and `NotAnInsight`."""
    if request.chat_id is None:
        anchored = AnchoredChat(request.anchor) if request.anchor else None
    elif conversations.get(deps.database, request.chat_id) is None:
        raise UnknownChat(request.chat_id)
    elif not request.amend:
        anchored = records.anchor_of_chat(deps.database, request.chat_id)
    else:
        amended = insights.of_chat(deps.database, request.chat_id)
        if amended is None:
            raise NotAnInsight
        anchored = AnchoredChat(amended.anchor, amended.id)
    return anchor_facts.of(deps.database, anchored, zone) if anchored else None


def _context(
    deps: TurnServices, request: TurnRequest, message: str, identity: str, model: AnyModel, mode: Mode
) -> PreparedContext:
    """What is told of earlier chats, and what the window is about; nothing to one that only quotes."""
    if deps.context is None:
        return PreparedContext(reason="there is no memory of chats here")
    withheld = ""
    if isinstance(model, ExtractiveModel):
        withheld = "the built-in model only quotes, and is told nothing"
    elif mode == "evidence" and not deps.context.settings.in_evidence_mode:
        withheld = "not told where a question is about a range (context.in_evidence_mode)"
    asking = ContextRequest(
        message=message,
        chat_id=request.chat_id,
        session_id=request.session_id,
        version=request.context_version,
        withheld=withheld,
        prompt_tokens=estimate_tokens(identity) + estimate_tokens(EVIDENCE_RULES) + estimate_tokens(message),
        window_tokens=0 if isinstance(model, ExtractiveModel) else model.context_tokens,
    )
    return prepare(deps.context, asking)


def uses_tools(models: ChatModels, model: AnyModel) -> bool:
    """Whether a model can be asked for tools: by its endpoint, or in a text format."""
    endpoint = models.endpoint(model.name)
    return endpoint is not None and (endpoint.supports_tools or bool(endpoint.tool_format))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # no such name, or a path trick
        raise BadTimezone(name) from error


def _mentions(deps: TurnServices, message: str) -> Mentions:
    return read(message, apps.colour_slots(deps.database) if "@" in message else ())


def _range(request: TurnRequest, mentioned: Mentions, understood: Found | Refusal | None) -> _Range:
    """The range given, or the one that the message names."""
    if request.start_ms is not None:
        end_ms = request.now_ms if request.end_ms is None else request.end_ms
        if not times.MIN_MS <= request.start_ms < end_ms <= times.MAX_MS:
            raise BadRange("end_time must be after start_time, and both must be dates of our days")
        return _Range(request.start_ms, end_ms, _reading(understood, request.start_ms, end_ms))
    if mentioned.has_selection:
        raise TimeRangeRequired("@selection", "no_selection")
    if understood is None:
        raise TimeRangeRequired()
    if isinstance(understood, Refusal):
        raise TimeRangeRequired(understood.phrase, understood.problem)
    reading = _reading(understood, understood.start_ms, understood.end_ms)
    return _Range(understood.start_ms, understood.end_ms, reading)


def _reading(understood: Found | Refusal | None, start_ms: int, end_ms: int) -> TimeReading:
    """How the message named the range ``[start_ms, end_ms)``, if it is one that its words may mean."""
    if not isinstance(understood, Found):
        return TimeReading()
    readings = (understood, *understood.also)
    chosen = next((each for each in readings if _is_same(each, start_ms, end_ms)), None)
    if chosen is None:
        return TimeReading()
    also = tuple((each.start_ms, each.end_ms) for each in readings if each is not chosen)
    return TimeReading(understood.phrase, chosen.is_so_far, also)


def _is_same(found: Found, start_ms: int, end_ms: int) -> bool:
    return abs(found.start_ms - start_ms) <= MAX_LATER_MS and abs(found.end_ms - end_ms) <= MAX_LATER_MS


# ---- identity
# As whom the model speaks: block 2, the one block that a person owns whole and that is stored.
#
# The first that is there: what the request says; the persona that it names; what the chat began with, which
# stays authoritative when it is opened again (R0.34, C21), or in a new chat the active persona; the neutral
# default. It is sent byte for byte (R0.2).

NEUTRAL = (
    "You are reconstructing a memory from a moment on the user's screen. Use the gathered context to write "
    "a thoughtful summary; you decide voice, length, and shape."
)
"""Requirements, R0.3."""


@dataclass(frozen=True, slots=True)
class Voice:
    """The identity as it is sent, and what it was made of."""

    identity: str
    persona: Persona | None = None
    style_note: str = ""


def resolve_voice(database: Database, request: TurnRequest) -> Voice:
    """Who speaks in one turn. An override is for this turn alone; a blank one is none (R0.35).

    A style note stands under whatever speaks, after one empty line (R0.37). Raises `BadSystemPrompt` and
    `UnknownPersona`.
    """
    override, note = request.system_prompt, request.style_note.strip()
    for text, most, name in ((override, MAX_PROMPT_CHARS, "system prompt"), (note, MAX_NOTE_CHARS, "note")):
        if text and len(text) > most:
            raise BadSystemPrompt(f"the {name} is longer than {most} characters")
    if override and override.strip():
        return Voice(_with_note(override, note), None, note)
    persona = _persona(database, request)
    if persona is not None:
        return Voice(_with_note(persona.system_prompt, note), persona, note)
    stored = "" if request.chat_id is None else conversations.identity(database, request.chat_id)
    return Voice(_with_note(stored or NEUTRAL, note), None, note)


def _persona(database: Database, request: TurnRequest) -> Persona | None:
    """The persona that a request names, or for a new chat the active one."""
    if request.persona_id is not None:
        named = personas.get(database, request.persona_id)
        if named.archived_ms is not None:
            raise UnknownPersona(named.id)
        return named
    return personas.active(database) if request.chat_id is None else None


def _with_note(identity: str, note: str) -> str:
    return f"{identity}\n\n{note}" if note else identity


# ---- mentions
# @mentions in a message that are no words for a time: ``@selection``, ``@app:Code``, ``@Code``.
#
# ``@today``, ``@yesterday`` and ``@last-hour`` are words of `phrases`. An app is mentioned by the name
# it was recorded with, in any case, its spaces written or as "-"; behind ``@app:`` any word or
# "quoted name" will do. The mirror for browsers is ``static/js/time/mentions.js``.

_AT = re.compile(r"(?<![A-Za-z0-9_.+-])@(app:)?", re.IGNORECASE)
_SELECTION = re.compile(r"selection(?![A-Za-z0-9])|选区", re.IGNORECASE)
_NAMED = re.compile(r"\"([^\"\n]{1,100})\"|([^\s\",，。;；:：?？!！]{1,100})")


@dataclass(frozen=True, slots=True)
class Mentions:
    """What was mentioned. `rest` is the message without it; of several apps the first counts."""

    app: str | None
    has_selection: bool
    rest: str


def read(message: str, apps: Iterable[str]) -> Mentions:
    """The mentions of a message; `apps` are the names that were recorded."""
    longest_first = sorted(apps, key=lambda name: (-len(name), name))
    app: str | None = None
    has_selection = False
    rest: list[str] = []
    at = 0
    for found in _AT.finditer(message):
        if found.start() < at:
            continue
        name, end = None, None
        if not found[1] and (selection := _SELECTION.match(message, found.end())):
            has_selection, end = True, selection.end()
        elif app is None:
            name, end = _app(message, found.end(), longest_first, is_explicit=bool(found[1]))
        if end is not None:
            app = app or name
            rest.append(message[at : found.start()])
            at = end
    return Mentions(app, has_selection, " ".join([*rest, message[at:]]) if rest else message)


def _app(
    message: str, at: int, longest_first: Iterable[str], *, is_explicit: bool
) -> tuple[str | None, int | None]:
    """(an app's name, where its mention ends) behind the @."""
    for name in longest_first:
        end = at + len(name)
        written = message[at:end].lower()
        if name and written in (name.lower(), name.lower().replace(" ", "-")) and _ends(message, end):
            return name, end
    named = _NAMED.match(message, at) if is_explicit else None
    return (named[1] or named[2], named.end()) if named else (None, None)


def _ends(message: str, end: int) -> bool:
    """Whether no Latin word runs on here."""
    return not re.match(r"[A-Za-z0-9]{2}", message[end - 1 : end + 1])
