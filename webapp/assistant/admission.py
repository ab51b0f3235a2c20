"""Whether a request can become a turn, and with what range, zone and model (R3.2, R3.53, C1)."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from store import conversations
from webapp import days
from webapp.assistant import phrases, prompt
from webapp.assistant.answering import Plan
from webapp.assistant.errors import BadMessage, BadRange, BadTimezone, TimeRangeRequired, UnknownChat
from webapp.assistant.records import MAX_MESSAGE_CHARS, TurnDeps, TurnRequest
from webapp.assistant.texts import language_of, question_words


@dataclass(frozen=True, slots=True)
class _Range:
    start_ms: int
    end_ms: int
    phrase: str  # the part of the message that named it, '' when it was given


def admit(deps: TurnDeps, request: TurnRequest) -> Plan:
    """The settled question. Raises `TurnRefused`, saying which field is at fault."""
    message = request.message.strip()
    if not message:
        raise BadMessage("the message is empty")
    if len(message) > MAX_MESSAGE_CHARS:
        raise BadMessage(f"the message is longer than {MAX_MESSAGE_CHARS} characters")
    zone = _zone(request.timezone)
    model = deps.models.get(request.model)
    chosen = _range(request, zone)
    if request.chat_id is not None and conversations.get(deps.database, request.chat_id) is None:
        raise UnknownChat(request.chat_id)
    return Plan(
        message=message,
        language=language_of(message),
        words=question_words(message.replace(chosen.phrase, " ") if chosen.phrase else message),
        start_ms=chosen.start_ms,
        end_ms=chosen.end_ms,
        timezone=request.timezone,
        zone=zone,
        now_ms=request.now_ms,
        filters=request.filters,
        model=model,
        identity=request.system_prompt or prompt.IDENTITY,
        chat_id=request.chat_id,
        without=frozenset(request.without),
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # no such name, or a path trick
        raise BadTimezone(name) from error


def _range(request: TurnRequest, zone: ZoneInfo) -> _Range:
    """The range given, or the one that the message names."""
    if request.start_ms is not None:
        end_ms = request.now_ms if request.end_ms is None else request.end_ms
        if not days.MIN_MS <= request.start_ms < end_ms <= days.MAX_MS:
            raise BadRange("end_time must be after start_time, and both must be dates of our days")
        return _Range(request.start_ms, end_ms, "")
    found = phrases.in_message(request.message, phrases.Calendar(request.now_ms, zone))
    if found is None:
        raise TimeRangeRequired()
    if isinstance(found, phrases.Refusal):
        raise TimeRangeRequired(found.phrase, found.problem)
    return _Range(found.start_ms, found.end_ms, found.phrase)
