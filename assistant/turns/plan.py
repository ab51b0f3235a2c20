"""What a turn works with, whether a request can become one and with what range, zone, model, voice and files;
then the turn under way, and what of what was said in it stood the checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import date, tzinfo
from functools import partial
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import apsw

from assistant.context.background import NO_CONTEXT, ContextRequest, PreparedContext, prepare
from assistant.context.session_closing import ContextServices
from assistant.core.errors import TurnRefused, UnknownChat
from assistant.core.models import PATIENCE_S, AnyModel, ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.core.records import (
    MAX_MESSAGE_CHARS,
    Claim,
    Coverage,
    EvidenceItem,
    Mode,
    Stage,
    StatusEvent,
    TurnRequest,
)
from assistant.core.strings import PROMPTS, text
from assistant.core.texts import Language, answer_language, estimate_tokens
from assistant.read_api.calls import ReadCall, ReadSources
from assistant.retrieval.measured_facts import MeasuredFacts
from assistant.tools.registry import AgentServices, registry
from assistant.turns import anchor_facts, scope
from assistant.turns.anchor_facts import AnchorFacts
from assistant.turns.scope import Understood
from assistant.turns.voices import Voice, resolve_voice
from engines.cancellation import Cancelled, CancelToken, run_with_timeout
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import Message, ModelError, Usage
from store.chats import attachments, conversations, prompts, records
from store.chats.attachments import Attachment
from store.chats.records import AnchoredChat, StoredTurn
from store.core import times, tombstones
from store.core.database import Database
from store.core.errors import NotFound
from store.core.translation import N_
from store.core.translation import gettext as _
from store.embeddings import knn
from store.frames.activity_intervals import Segment
from store.memory import insights
from store.search.sample import SampledFrame
from store.sources import entities

T = TypeVar("T")

MAX_FILES = 10
MAX_IMAGE_BYTES = 20_000_000
"""Of all images of one question: they are sent as they are."""
_refused = partial(TurnRefused, "attachment_refused", "attachments")

MAX_ANSWER_TOKENS = 1_500
"""Room left in the context window for the answer, or a quarter of a small window."""


def reserve(window: int) -> int:
    """Tokens of a window that are kept for the answer."""
    return min(MAX_ANSWER_TOKENS, window // 4)


@dataclass(frozen=True, slots=True)
class TurnServices:
    """What a turn works with; `clock` gives epoch milliseconds.

    `embedder` tells what the question of a turn means; without it words alone find. Without `agent` there
    are no tools. Without `context` nothing is told of earlier chats. `permits` says which frames whoever
    asks may see, None for all.
    """

    database: Database
    models: ChatModels
    clock: Callable[[], int]
    embedder: QueryEmbedder | None = None
    agent: AgentServices | None = None
    context: ContextServices | None = None
    permits: Callable[[SampledFrame | Segment], bool] | None = None


@contextmanager
def opened(library: ReadSources, call: ReadCall | None = None) -> Iterator[TurnServices]:
    """Services of a turn. For another program's `call` nothing is shown that today's rules keep back, and
    there are tools only that look things up.
    """
    database, settings = library.database, library.settings
    tools = registry(settings.tools)
    if call is not None:
        tools = {name: tool for name, tool in tools.items() if tool.risk == "looks"}
    models = ChatModels(settings.chat, database=database)
    if not library.embedder.is_off:
        knn.load_neighbours(database, "frame")
    agent = AgentServices(library, settings.tools, tools)
    permits = call.shows if call else None
    try:
        yield TurnServices(database, models, library.clock, library.embedder, agent, permits=permits)
    finally:
        models.close()


@dataclass(frozen=True, slots=True)
class Attached:
    """The files of a question, and those of the questions before it in its chat."""

    own: tuple[Attachment, ...] = ()
    earlier: tuple[Attachment, ...] = ()

    @property
    def images(self) -> tuple[Attachment, ...]:
        """The question's own images, each once."""
        by_file = {file.sha256: file for file in self.own if file.is_image}
        return tuple(by_file.values())

    def __bool__(self) -> bool:
        return bool(self.own or self.earlier)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPlan(Understood):
    """A question that was admitted and understood: everything about it is settled but the answer.

    `message` is what was asked. `about` is the frame or moment that the conversation is about, `asked` what
    the model is asked in place of the message, '' for the message itself.
    """

    request: TurnRequest
    zone: tzinfo
    message: str
    language: Language
    model: AnyModel
    voice: Voice
    uses_tools: bool = False
    model_prompt: str = ""
    context: PreparedContext = NO_CONTEXT
    """What is told as background beside the question, and how that came to be."""
    about: AnchorFacts | None = None
    asked: str = ""
    attached: Attached = Attached()
    owner: str = ""
    """Whose screen this is, as memory knows the person."""
    last_deletion_id: int = 0
    """The latest deletion before anything was looked up for the question."""

    @property
    def mode(self) -> Mode:
        return self.request.mode

    @property
    def now_ms(self) -> int:
        return self.request.now_ms

    @property
    def chat_id(self) -> int | None:
        """The chat that goes on; None for a new one."""
        return None if self.request.amend else self.request.chat_id

    @property
    def is_bounded(self) -> bool:
        """Whether nothing outside the range may be shown: it was given, not only found in the message."""
        return self.request.start_ms is not None

    @property
    def start_ms(self) -> int:
        return self.scope.start_ms

    @property
    def end_ms(self) -> int:
        return self.scope.end_ms

    @property
    def has_range(self) -> bool:
        """Whether a range was given or found."""
        return not self.scope.is_everything and self.start_ms < self.end_ms

    @property
    def days(self) -> list[str]:
        """The first and the last day of the range that was given or found, as they are written (ISO 8601)."""
        ends = (self.start_ms, self.end_ms - 1) if self.has_range else ()
        return [times.to_local(at, self.zone).date().isoformat() for at in ends]

    @property
    def days_ahead(self) -> tuple[tuple[date, date], ...]:
        """The first and the last day of each time to come that was named, or that is over."""
        spans = [[times.to_local(ms, self.zone).date() for ms in (a, b - 1)] for a, b in self.scope.ahead]
        return tuple((first, last) for first, last in spans)

    @property
    def is_to_come(self) -> bool:
        """Whether nothing of its range can have been recorded yet."""
        return self.start_ms >= self.now_ms

    @property
    def asks_without_frames(self) -> bool:
        """Whether a model is asked though nothing was found: it can look on, or has files to read."""
        return self.uses_tools or (self.mode == "auto" and bool(self.attached.own))

    @property
    def shows_anchor(self) -> bool:
        """Whether the frames of what the conversation is about stand in its message."""
        return self.about is not None and self.uses_tools

    @property
    def gathers(self) -> bool:
        """Whether tools are what its context is gathered with: nothing was looked up for the question."""
        return self.about is not None or self.mode == "agent"

    @property
    def question(self) -> str:
        """What the model is asked."""
        return self.asked or self.message


def admit(services: TurnServices, request: TurnRequest) -> TurnPlan:
    """The settled question. Raises `TurnRefused`, saying which field is at fault."""
    last_deletion_id = tombstones.newest_now(services.database)
    message, zone = _message(request), _zone(request.timezone)
    model = services.models.get(request.model)
    about = _about(services, request, zone)
    if about and about.anchored.amends_id is not None and isinstance(model, ExtractiveModel):
        chat_id = request.chat_id
        is_again = chat_id is not None and insights.of_chat(services.database, chat_id) is None
        if request.amend or is_again:  # quoting cannot change a text by what is asked
            raise TurnRefused("model_required", "model", _("amending an insight needs a language model"))
    if request.mode != "evidence":
        # Waited for only where it decides what is asked; the first frames of other turns come before it.
        decides = request.mode == "agent" or about is not None or bool(request.attachments)
        services.models.find_out(model.name, PATIENCE_S if decides else 0.0)
    can_use_tools = _can_use_tools(services, model)
    reader = scope.Reader(services.database, request, message, zone, about, can_use_tools, services.permits)
    asked = reader.understood()
    if request.mode == "agent" and not can_use_tools:
        sentence = _(
            "the model %(name)r is not set up for tools; name a time, or choose another model",
            name=model.name,
        )
        raise TurnRefused("mode_unavailable", "mode", sentence)
    attached = _attached(services, request, model)
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
        prompt_tokens=estimate_tokens(identity)
        + estimate_tokens(PROMPTS["evidence_rules"])
        + estimate_tokens(message),
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


# -- which files a question may bring, and to which model -------------------------------------


def not_there(error: NotFound) -> TurnRefused:
    """For a file that was deleted."""
    sentence = _("file %(name)s is not there any more; attach it again", name=error.name)
    return TurnRefused("attachment_not_found", "attachments", sentence)


def _attached(services: TurnServices, request: TurnRequest, model: AnyModel) -> Attached:
    """The files of the question and of its chat. Images go to a model that can see, never in evidence mode.

    Raises `TurnRefused` for those that the question cannot bring.
    """
    if len(set(request.attachments)) > MAX_FILES:
        raise _refused(_("at most %(number)s files go with one question", number=MAX_FILES))
    try:
        own = attachments.usable(services.database, request.attachments, request.chat_id)
    except NotFound as error:
        raise not_there(error) from error
    chat_id = None if request.amend else request.chat_id
    of_chat = [] if chat_id is None else attachments.of_chat(services.database, chat_id)
    known = {file.sha256 for file in own}
    earlier = {file.sha256: file for file in of_chat if file.sha256 not in known}
    attached = Attached(tuple(own), tuple(earlier.values()))
    if not attached.images:
        return attached
    which = ", ".join(image.name for image in attached.images)
    if not services.models.endpoint(model.name).supports_vision:
        sentence = _(
            "%(model)s is not set up for images, so it cannot look at %(names)s",
            model=model.name,
            names=which,
        )
        raise _refused(sentence)
    if request.mode == "evidence":
        raise _refused(_("an answer from recorded frames alone cannot look at %(names)s", names=which))
    if sum(image.size_bytes for image in attached.images) > MAX_IMAGE_BYTES:
        megabytes = MAX_IMAGE_BYTES // 1_000_000
        raise _refused(_("the images of one question may have %(number)s MB", number=megabytes))
    return attached


# -- the turn under way -----------------------------------------------------------------------


@dataclass(slots=True)
class RunningTurn:
    """A turn under way. Its question is `stored`, and all below `stop` is stored with it even if it fails.

    `usage` is what its answers took, `sources` names what it rests on beside frames, `ending` is what broke
    an answer off, if anything did, and `refusal` why it is asked anew without tools.
    """

    services: TurnServices
    plan: TurnPlan
    stored: StoredTurn
    history: Sequence[Sequence[Message]] = ()  # whole exchanges, the oldest first
    stop: CancelToken = field(default_factory=CancelToken)
    coverage: Coverage = field(default_factory=lambda: Coverage(0, 0))
    evidence: tuple[EvidenceItem, ...] = ()
    warnings: list[str] = field(default_factory=list)
    frames_read: int = 0
    usage: Usage | None = None
    sources: tuple[str, ...] = ()
    ending: ModelError | Cancelled | None = None
    refusal: ModelError | None = None
    called_as: set[str] = field(default_factory=set)
    """The formats in which its model called tools, "" for its endpoint's own."""

    @property
    def database(self) -> Database:
        return self.services.database

    def now_ms(self) -> int:
        return self.services.clock()

    def is_current(self, connection: apsw.Connection) -> bool:
        """Whether nothing was deleted since the turn was asked."""
        return conversations.is_current(connection, self.stored.id)

    def wait_for(self, work: Callable[[], T], timeout_s: float = math.inf) -> T:
        """What `work` gives, in a thread that is left when the turn is stopped.

        Raises `Cancelled`, `TimeoutError` after `timeout_s`, and what it raises.
        """
        return run_with_timeout(work, timeout_s, self.stop, self.database.close_thread)

    def status(self, stage: Stage, name: str = "", **values: str) -> StatusEvent:
        """Tells that the turn has reached a stage, by the sentence of that name or of the stage."""
        sentence = text(name or stage, self.plan.language, **values)
        return StatusEvent(stage, sentence, self.stored.chat_id, self.stored.n)


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer with its proof, ready to be stored; `dropped` counts the ids it cited that name nothing."""

    answer_md: str = ""
    evidence: tuple[EvidenceItem, ...] = ()
    claims: tuple[Claim, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped: int = 0
    measured: MeasuredFacts | None = None
