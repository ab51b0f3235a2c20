"""What is handed on from step to step of a turn: what it works with, what was settled before it began,
the turn under way, and what of what was said in it stood the checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, tzinfo
from typing import TypeVar

import apsw

from assistant.context.background import NO_CONTEXT, PreparedContext
from assistant.context.session_closing import ContextServices
from assistant.core.models import AnyModel, ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.core.records import (
    Claim,
    Coverage,
    EvidenceItem,
    Mode,
    Stage,
    StatusEvent,
    TurnRequest,
)
from assistant.core.strings import text
from assistant.core.texts import Language
from assistant.read_api.calls import ReadCall, ReadSources
from assistant.retrieval.measured_facts import MeasuredFacts
from assistant.tools.registry import AgentServices, registry
from assistant.turns.anchor_facts import AnchorFacts
from assistant.turns.scope import Understood
from engines.cancellation import Cancelled, CancelToken, run_with_timeout
from engines.chat.protocol import Message, ModelError, Usage
from store.chats import conversations
from store.chats.attachments import Attachment
from store.chats.personas import Persona
from store.chats.records import StoredTurn
from store.core import times
from store.core.database import Database
from store.embeddings import knn
from store.frames.activity_intervals import Segment
from store.search.sample import SampledFrame

T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class Voice:
    """As whom the model speaks: the words of a persona (None: of an override, of the chat, or the neutral
    ones), with a note under them after one empty line.
    """

    words: str
    persona: Persona | None = None
    style_note: str = ""

    @property
    def identity(self) -> str:
        """The block of the prompt, byte for byte as it is sent."""
        return f"{self.words}\n\n{self.style_note}" if self.style_note else self.words


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


@dataclass(slots=True)
class RunningTurn:
    """A turn under way. Its question is `stored`, and all below `stop` is stored with it even if it fails.

    `usage` is what its answers took, `sources` names what it rests on beside frames, `ending` is what broke
    an answer off, if anything did, and `refusal` why it is asked anew: without tools, or for fewer tokens.
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
