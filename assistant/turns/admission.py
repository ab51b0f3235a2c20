"""Whether a request can become a turn, and with what range, zone, model and voice."""

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
class _Scope:
    start_ms: int
    end_ms: int
    reading: TimeReading


def admit(services: TurnServices, request: TurnRequest) -> TurnPlan:
    """The settled question. Raises `TurnRefused`, saying which field is at fault."""
    message, zone = _message(request), _zone(request.timezone)
    model = services.models.get(request.model)
    about = _about(services, request, zone)
    mentions, time_phrase = _understood(services, request, message, about, zone)
    can_use_tools = services.agent is not None and uses_tools(services.models, model)
    attached = attachments.resolve_attachments(services, request)
    attachments.check_images(services, request, model, attached, uses_tools=can_use_tools)
    if attached.images:  # nothing but a turn with tools looks at an image
        request = replace(request, mode="agent")
    mode, scope = _mode_and_scope(request, model, mentions, time_phrase, about, can_use_tools)
    voice = resolve_voice(services.database, request)
    topic = mentions.rest.replace(time_phrase.phrase, " ") if time_phrase else mentions.rest
    filters = request.filters
    if mentions.app and not filters.app_name:
        filters = replace(filters, app_name=mentions.app)
    context = _context(services, request, message, voice.identity, model, mode)
    return TurnPlan(
        context=context,
        pack=context.system_augmentation,
        session_id=request.session_id,
        message=message,
        language=language_of(message),
        words=question_words(topic),
        start_ms=scope.start_ms if scope else 0,
        end_ms=scope.end_ms if scope else request.now_ms,
        timezone=request.timezone,
        zone=zone,
        now_ms=request.now_ms,
        filters=filters,
        model=model,
        identity=voice.identity,
        persona=voice.persona,
        style_note=voice.style_note,
        model_prompt=prompts.get_prompt(services.database, model.name),
        chat_id=None if request.amend else request.chat_id,
        about=about,
        reading=scope.reading if scope else TimeReading(),
        searched_for=" ".join(topic.split()),
        without=frozenset(request.without),
        mode=mode,
        has_range=scope is not None,
        is_bounded=request.start_ms is not None,
        first_call=request.first_call if mode == "agent" else None,
        attached=attached,
        previous_response_id=request.previous_response_id,
    )


def _message(request: TurnRequest) -> str:
    message = request.message.strip()
    if not message:
        raise BadMessage("the message is empty")
    if len(message) > MAX_MESSAGE_CHARS:
        raise BadMessage(f"the message is longer than {MAX_MESSAGE_CHARS} characters")
    return message


@dataclass(frozen=True, slots=True)
class Mentions:
    """What was mentioned. `rest` is the message without it; of several apps the first counts."""

    app: str | None
    has_selection: bool
    rest: str


def _understood(
    services: TurnServices, request: TurnRequest, message: str, about: AnchorFacts | None, zone: ZoneInfo
) -> tuple[Mentions, Found | Refusal | None]:
    """What the message mentions with an @, and what it says of time."""
    if about and anchor_facts.is_label(message):  # its time is the anchor's, not a range to look at
        return Mentions(None, False, ""), None
    app_names = apps.names(services.database) if "@" in message else ()
    mentions = read_mentions(message, app_names)
    calendar = Calendar(request.now_ms, zone, request.day_start_min, request.week_start)
    return mentions, time_phrases.in_message(mentions.rest, calendar)


def _mode_and_scope(
    request: TurnRequest,
    model: AnyModel,
    mentions: Mentions,
    time_phrase: Found | Refusal | None,
    about: AnchorFacts | None,
    can_use_tools: bool,
) -> tuple[Mode, _Scope | None]:
    """Evidence mode wherever there is a range, unless tools are asked for; tools without one.

    Where a conversation is about a frame or a moment, that is what a model without tools looks at.
    """
    if request.mode == "agent" and not can_use_tools:
        raise ModeUnavailable(model.name)
    try:
        return request.mode or "evidence", _scope(request, mentions, time_phrase)
    except TimeRangeRequired as error:
        if about and error.problem == "missing" and (request.mode == "evidence" or not can_use_tools):
            return "evidence", _Scope(*about.range_ms, TimeReading())
        # Of a time to come nothing is recorded, but a calendar may tell.
        if request.mode == "evidence" or not can_use_tools or error.problem not in ("missing", "future"):
            raise
        return "agent", None


def _scope(request: TurnRequest, mentions: Mentions, time_phrase: Found | Refusal | None) -> _Scope:
    """The range given, or the one that the message names. Raises `BadRange` and `TimeRangeRequired`."""
    if request.start_ms is not None:
        end_ms = request.now_ms if request.end_ms is None else request.end_ms
        if not times.MIN_MS <= request.start_ms < end_ms <= times.MAX_MS:
            raise BadRange("end_time must be after start_time, and both must be dates of our days")
        return _Scope(request.start_ms, end_ms, _reading(time_phrase, request.start_ms, end_ms))
    if mentions.has_selection:
        raise TimeRangeRequired("@selection", "no_selection")
    if time_phrase is None:
        raise TimeRangeRequired()
    if isinstance(time_phrase, Refusal):
        raise TimeRangeRequired(time_phrase.phrase, time_phrase.problem)
    span = time_phrase.start_ms, time_phrase.end_ms
    return _Scope(*span, _reading(time_phrase, *span))


def _reading(time_phrase: Found | Refusal | None, start_ms: int, end_ms: int) -> TimeReading:
    """How the message named the range ``[start_ms, end_ms)``, if it is one that its words may mean."""
    if not isinstance(time_phrase, Found):
        return TimeReading()
    readings = (time_phrase, *time_phrase.also)
    chosen = next((reading for reading in readings if _is_same(reading, start_ms, end_ms)), None)
    if chosen is None:
        return TimeReading()
    also = tuple((reading.start_ms, reading.end_ms) for reading in readings if reading is not chosen)
    return TimeReading(time_phrase.phrase, chosen.is_so_far, also)


def _is_same(reading: Found, start_ms: int, end_ms: int) -> bool:
    return abs(reading.start_ms - start_ms) <= MAX_LATER_MS and abs(reading.end_ms - end_ms) <= MAX_LATER_MS


def _about(services: TurnServices, request: TurnRequest, zone: ZoneInfo) -> AnchorFacts | None:
    """What the conversation is about. Raises `UnknownChat` and `NotAnInsight`."""
    if request.chat_id is None:
        anchored = AnchoredChat(request.anchor) if request.anchor else None
    elif conversations.get(services.database, request.chat_id) is None:
        raise UnknownChat(request.chat_id)
    elif not request.amend:
        anchored = records.anchor_of_chat(services.database, request.chat_id)
    else:
        amended = insights.of_chat(services.database, request.chat_id)
        if amended is None:
            raise NotAnInsight
        anchored = AnchoredChat(amended.anchor, amended.id)
    return anchor_facts.of(services.database, anchored, zone) if anchored else None


def _context(
    services: TurnServices, request: TurnRequest, message: str, identity: str, model: AnyModel, mode: Mode
) -> PreparedContext:
    """What is told of earlier chats, and what the window is about; nothing to one that only quotes."""
    if services.context is None:
        return PreparedContext(reason="there is no memory of chats here")
    withheld = ""
    if isinstance(model, ExtractiveModel):
        withheld = "the built-in model only quotes, and is told nothing"
    elif mode == "evidence" and not services.context.settings.in_evidence_mode:
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
    return prepare(services.context, asking)


def uses_tools(models: ChatModels, model: AnyModel) -> bool:
    """Whether a model can be asked for tools: by its endpoint, or in a text format."""
    endpoint = models.endpoint(model.name)
    return endpoint is not None and (endpoint.supports_tools or bool(endpoint.tool_format))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # no such name, or a path trick
        raise BadTimezone(name) from error


# -- as whom the model speaks -----------------------------------------------------------------
#
# The one block of the prompt that a person owns whole and that is stored. The first that is there: what the
# request says; the persona that it names; what the chat began with, which stays authoritative when it is
# opened again, or in a new chat the active persona; the neutral default. It is sent byte for byte.

NEUTRAL = (
    "You are reconstructing a memory from a moment on the user's screen. Use the gathered context to write "
    "a thoughtful summary; you decide voice, length, and shape."
)


@dataclass(frozen=True, slots=True)
class Voice:
    """The identity as it is sent, and what it was made of."""

    identity: str
    persona: Persona | None = None
    style_note: str = ""


def resolve_voice(database: Database, request: TurnRequest) -> Voice:
    """Who speaks in one turn. An override is for this turn alone; a blank one is none.

    A style note stands under whatever speaks, after one empty line. Raises `BadSystemPrompt` and
    `UnknownPersona`.
    """
    override, note = request.system_prompt, request.style_note.strip()
    for text, limit, name in ((override, MAX_PROMPT_CHARS, "system prompt"), (note, MAX_NOTE_CHARS, "note")):
        if text and len(text) > limit:
            raise BadSystemPrompt(f"the {name} is longer than {limit} characters")
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


# -- @mentions that are no words for a time: ``@selection``, ``@app:Code``, ``@Code`` -----------
#
# ``@today``, ``@yesterday`` and ``@last-hour`` are words of `time_phrases`. An app is mentioned by the name
# it was recorded with, in any case, its spaces written or as "-"; behind ``@app:`` any word or "quoted name"
# will do. The mirror for browsers is ``static/js/time/mentions.js``.

_AT = re.compile(r"(?<![A-Za-z0-9_.+-])@(app:)?", re.IGNORECASE)
_SELECTION = re.compile(r"selection(?![A-Za-z0-9])|选区", re.IGNORECASE)
_NAMED = re.compile(r"\"([^\"\n]{1,100})\"|([^\s\",，。;；:：?？!！]{1,100})")


def read_mentions(message: str, app_names: Iterable[str]) -> Mentions:
    """The mentions of a message; `app_names` are those that were recorded."""
    longest_first = sorted(app_names, key=lambda name: (-len(name), name))
    app: str | None = None
    has_selection = False
    rest: list[str] = []
    at = 0
    for sign in _AT.finditer(message):
        if sign.start() < at:
            continue
        name, end = None, None
        if not sign[1] and (selection := _SELECTION.match(message, sign.end())):
            has_selection, end = True, selection.end()
        elif app is None:
            name, end = _app(message, sign.end(), longest_first, is_explicit=bool(sign[1]))
        if end is not None:
            app = app or name
            rest.append(message[at : sign.start()])
            at = end
    return Mentions(app, has_selection, " ".join([*rest, message[at:]]) if rest else message)


def _app(
    message: str, at: int, longest_first: Iterable[str], *, is_explicit: bool
) -> tuple[str | None, int | None]:
    """(an app's name, where its mention ends) behind the @."""
    for name in longest_first:
        end = at + len(name)
        written = message[at:end].lower()
        runs_on = re.match(r"[A-Za-z0-9]{2}", message[end - 1 : end + 1])
        if name and not runs_on and written in (name.lower(), name.lower().replace(" ", "-")):
            return name, end
    written_name = _NAMED.match(message, at) if is_explicit else None
    return (written_name[1] or written_name[2], written_name.end()) if written_name else (None, None)
