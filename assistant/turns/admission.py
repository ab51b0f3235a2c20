"""Whether a request can become a turn, and with what range, zone, model and voice."""

from __future__ import annotations

from dataclasses import fields, replace
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from assistant.context.background import ContextRequest, PreparedContext, prepare
from assistant.core.errors import TurnRefused, UnknownChat
from assistant.core.models import PATIENCE_S, AnyModel
from assistant.core.records import MAX_MESSAGE_CHARS, MAX_NOTE_CHARS, MAX_PROMPT_CHARS, NO_VOICE, TurnRequest
from assistant.core.strings import PROMPTS
from assistant.core.texts import answer_language, estimate_tokens
from assistant.turns import anchor_facts, attachments, scope
from assistant.turns.anchor_facts import AnchorFacts
from assistant.turns.plan import TurnPlan, TurnServices, Voice
from assistant.turns.prompts import EVIDENCE_RULES
from engines.chat.extractive import ExtractiveModel
from store.chats import conversations, personas, prompts, records
from store.chats.personas import Persona
from store.chats.records import AnchoredChat
from store.core import tombstones
from store.core.database import Database
from store.core.errors import NotFound
from store.core.translation import N_
from store.core.translation import gettext as _
from store.memory import insights
from store.sources import entities


def admit(services: TurnServices, request: TurnRequest) -> TurnPlan:
    """The settled question. Raises `TurnRefused`, saying which field is at fault."""
    last_deletion_id = tombstones.newest_now(services.database)
    message, zone = _message(request), _zone(request.timezone)
    model = services.models.get(request.model)
    about = _about(services, request, zone)
    if about is not None and isinstance(model, ExtractiveModel):
        _refuse_rewriting(services.database, request, about)
    if request.mode != "evidence":
        # Waited for only where it decides what is asked; the first frames of other turns come before it.
        decides = request.mode == "agent" or about is not None or bool(request.attachments)
        services.models.find_out(model.name, PATIENCE_S if decides else 0.0)
    can_use_tools = _can_use_tools(services, model)
    asked = scope.understood(
        services.database,
        request,
        message,
        zone,
        about,
        uses_tools=can_use_tools,
        permits=services.permits,
    )
    if request.mode == "agent" and not can_use_tools:
        sentence = _(
            "the model %(name)r is not set up for tools; name a time, or choose another model",
            name=model.name,
        )
        raise TurnRefused("mode_unavailable", "mode", sentence)
    attached = attachments.resolve_attachments(services, request)
    attachments.check_images(services, request, model, attached)
    voice = resolve_voice(services.database, request)
    return TurnPlan(
        **{each.name: getattr(asked, each.name) for each in fields(asked)},
        request=request,
        zone=zone,
        message=message,
        language=answer_language(message),
        model=model,
        voice=voice,
        uses_tools=can_use_tools and request.mode != "evidence",
        model_prompt=prompts.get_prompt(services.database, model.name),
        context=_context(services, request, message, voice.identity, model),
        about=about,
        attached=attached,
        owner=owner.name if (owner := entities.owner(services.database)) else "",
        last_deletion_id=last_deletion_id,
    )


def _message(request: TurnRequest) -> str:
    message = request.message.strip()
    if 0 < len(message) <= MAX_MESSAGE_CHARS:
        return message
    problem = _("the message is empty")
    if message:
        problem = _("the message is longer than %(number)s characters", number=MAX_MESSAGE_CHARS)
    raise TurnRefused("invalid_message", "message", problem)


def _about(services: TurnServices, request: TurnRequest, zone: ZoneInfo) -> AnchorFacts | None:
    """What the conversation is about. Raises `TurnRefused`."""
    if request.chat_id is None:
        anchored = AnchoredChat(request.anchor) if request.anchor else None
    elif conversations.get(services.database, request.chat_id) is None:
        raise UnknownChat(request.chat_id)
    elif not request.amend:
        anchored = records.anchor_of_chat(services.database, request.chat_id)
    else:
        amended = insights.of_chat(services.database, request.chat_id)
        if amended is None:
            raise TurnRefused("not_an_insight", "amend", _("only the chat of an insight can be amended"))
        anchored = AnchoredChat(amended.anchor, amended.id)
    return anchor_facts.of(services.database, anchored, zone) if anchored else None


def _refuse_rewriting(database: Database, request: TurnRequest, about: AnchorFacts) -> None:
    """Quoting cannot change a text by what is asked, also where that failed and is asked for again."""
    is_again = request.chat_id is not None and insights.of_chat(database, request.chat_id) is None
    if about.anchored.amends_id is not None and (request.amend or is_again):
        raise TurnRefused("model_required", "model", _("amending an insight needs a language model"))


def _context(
    services: TurnServices, request: TurnRequest, message: str, identity: str, model: AnyModel
) -> PreparedContext:
    """What is told of earlier chats, and what the window is about; nothing to one that only quotes."""
    if services.context is None:
        return PreparedContext(reason=N_("there is no memory of chats here"))
    withheld = ""
    if isinstance(model, ExtractiveModel):
        withheld = N_("the built-in model only quotes and needs no background")
    elif request.mode == "evidence" and not services.context.settings.in_evidence_mode:
        withheld = N_("switched off for questions about a time range (context.in_evidence_mode)")
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


def settled(services: TurnServices, plan: TurnPlan) -> TurnPlan:
    """The plan of a turn with what its model can do, once that was found out or nobody waits for it."""
    if plan.mode != "auto" or plan.about is not None:
        return plan
    services.models.find_out(plan.model.name)
    return replace(plan, uses_tools=_can_use_tools(services, plan.model))


def _can_use_tools(services: TurnServices, model: AnyModel) -> bool:
    return services.agent is not None and services.models.endpoint(model.name).supports_tools


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # no such name, or a path trick
        sentence = _("%(name)r is not an IANA time zone; for example 'Europe/Berlin'", name=name)
        raise TurnRefused("invalid_timezone", "timezone", sentence) from error


# -- as whom the model speaks -----------------------------------------------------------------
#
# The one block of the prompt that a person owns whole and that is stored. The first that is there: what the
# request says; the persona that it names; what the chat began with, which stays authoritative when it is
# opened again, or in a new chat the active persona; the neutral default. It is sent byte for byte.

NEUTRAL: str = PROMPTS["identity"]


def resolve_voice(database: Database, request: TurnRequest) -> Voice:
    """Who speaks in one turn. An override is for this turn alone; a blank one is none.

    A style note stands under whatever speaks, after one empty line. Raises `TurnRefused` and
    `NotFound`.
    """
    override, note = request.system_prompt, request.style_note.strip()
    too_long = (
        (override, MAX_PROMPT_CHARS, N_("the system prompt is longer than %(number)s characters")),
        (note, MAX_NOTE_CHARS, N_("the note is longer than %(number)s characters")),
    )
    for text, limit, sentence in too_long:
        if text and len(text) > limit:
            raise TurnRefused("invalid_system_prompt", "system_prompt", _(sentence, number=limit))
    if override and override.strip():
        return Voice(override, None, note)
    if request.persona_id == NO_VOICE:
        return Voice(NEUTRAL, None, note)
    persona = _persona(database, request)
    if persona is not None:
        return Voice(persona.system_prompt, persona, note)
    stored = "" if request.chat_id is None else conversations.identity(database, request.chat_id)
    return Voice(stored or NEUTRAL, _stored_persona(database, request.chat_id) if stored else None, note)


def _stored_persona(database: Database, chat_id: int | None) -> Persona | None:
    """Whose words a chat began with, as they were then; None for an override, or nobody."""
    version = chat_id and personas.of_turn(database, chat_id, 1).version
    return replace(personas.get(database, version.persona_id), version=version.version) if version else None


def _persona(database: Database, request: TurnRequest) -> Persona | None:
    """The persona that a request names, or for a new chat the active one."""
    if request.persona_id is not None:
        named = personas.get(database, request.persona_id)
        if named.archived_ms is not None:
            raise NotFound("persona", named.id)
        return named
    return personas.active(database) if request.chat_id is None else None
