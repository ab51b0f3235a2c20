"""What a turn's model is sent, kept within its window, and what was heard of it so far.

A request is made of a head (rules, the conversation before, the question behind its frames and files) and of
the rounds of tool calls since. The window of the model decides how much of each goes along; whatever was left
out is told in a warning. What the model has not read yet is worth most: results of earlier rounds are left
out first, the oldest before the others; then those of the last round keep their beginnings.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import apsw

from assistant.context import background
from assistant.core.endpoints import Endpoint
from assistant.core.prompt_blocks import Block, in_order, system_messages, tokens_of
from assistant.core.prompt_blocks import background as background_block
from assistant.core.records import ATTACHMENT_SOURCE
from assistant.core.strings import PROMPTS, local_time, text
from assistant.core.texts import upper_tokens
from assistant.evidence.off_screen import Item, OffScreen
from assistant.evidence.replies import StreamBuffer
from assistant.formats.parsing import tools_as_text
from assistant.retrieval.packing import CLOSE, OPEN, Packed, pack
from assistant.retrieval.retrieval import Retrieval
from assistant.tools import registry
from assistant.tools.context import Findings, TurnFindings
from assistant.tools.files import read_attachment
from assistant.tools.registry import AgentServices, definitions
from assistant.tools.tool import Tool
from assistant.turns import attachments
from assistant.turns.attachments import PICTURE_TOKENS, AttachmentText, Pictures
from assistant.turns.beside_answers import Beside
from assistant.turns.plan import RunningTurn, TurnPlan, reserve
from engines.cancellation import Cancelled
from engines.chat.protocol import (
    Abilities,
    ChatModel,
    ContextTooLong,
    Message,
    ModelError,
    ModelFailed,
    ModelRefused,
    ModelUnknown,
    Usage,
    object_schema,
)
from store.chats.attachments import text_of
from store.core import preferences
from store.core.database import Database
from store.core.settings import ToolsSettings

EVIDENCE_RULES: str = PROMPTS["evidence_rules"]
TOOL_RULES: str = PROMPTS["tool_rules"]
OWNER_NOTE: str = PROMPTS["owner"]
BUDGET_NOTE: str = PROMPTS["budget"]
RESULTS: str = PROMPTS["results"]

_STRING = {"type": "string"}
_QUOTE = object_schema(id=_STRING, quote=_STRING)
OUTPUT_SCHEMA = object_schema(answer_md=_STRING, evidence={"type": "array", "items": _QUOTE})

Exchange = Sequence[Message]
"""A question, the rounds of its tools, and its answer."""

_EVERYTHING = 1 << 40
_OF_TOOLS = ("guidance", "tools", "budget")
"""Blocks of the prompt that speak of tools."""


@dataclass(slots=True)
class ModelSession:
    """A turn's conversation with its model. `packed` are the frames that it is shown at first, `window` the
    tokens of a request and its answer: fewer than the model is set to, once its endpoint refused as much.
    """

    turn: RunningTurn
    model: ChatModel
    retrieval: Retrieval
    beside: Beside
    window: int = field(init=False)
    tools: list[Tool] = field(init=False)
    form: str = field(init=False)
    blocks: tuple[Block, ...] = field(init=False)
    pictures: Pictures = field(init=False)
    findings: TurnFindings = field(init=False)
    off_screen: OffScreen = field(init=False)
    head: list[Message] = field(default_factory=list)
    rounds: list[Message] = field(default_factory=list)
    packed: Packed = field(default_factory=lambda: Packed("", (), 0))
    files: AttachmentText = field(default_factory=AttachmentText)
    usages: list[Usage] = field(default_factory=list)
    parts: int = 0
    left: dict[str, tuple[int, int]] = field(default_factory=dict)
    """What the model did not get as a whole, by the sentence that says so: how many, and of how many."""
    is_silent: bool = False
    """Whether it was asked and said nothing, or nothing that can be used."""
    heard: StreamBuffer = field(default_factory=StreamBuffer)
    """What of the answer that is being written was heard so far."""

    def __post_init__(self) -> None:
        self.window = self.model.context_tokens
        self.begin()

    def begin(self) -> None:
        """Choose all of a first request for the window: tools, pictures, frames, and the chat before."""
        turn, plan, agent = self.turn, self.plan, self.turn.services.agent
        self.form = self.endpoint.tool_format if plan.uses_tools else ""
        self.tools = self._offered() if plan.uses_tools else []
        self.pictures = attachments.pictures_of(turn, self.retrieval, self.window // 4)
        settings, sees = agent.settings if agent else None, bool(self.pictures.pictures)
        self.blocks = blocks(plan, self.tools, settings, self.form, sees=sees)
        self.compose()
        if self.tools and self.retrieval.entries and not self.packed.entries:  # frames answer more than tools
            turn.plan = replace(plan, uses_tools=False)
            self.left["tools_left_out"] = (self.left["tools_left_out"][1],) * 2
            self.begin()
            return
        shown, texts = self.packed.entries, self.files.texts
        self.findings = TurnFindings()
        self.findings.take(Findings({entry.frame.id: entry.id for entry in shown}))
        self.findings.seen |= {shot.frame.id for shot in self.pictures.shots}
        self.off_screen = OffScreen(bool(turn.history), [plan.message, *texts], asked=plan.days)
        self.off_screen.has_looked = bool(shown) and (self.retrieval.coverage.is_found or plan.has_range)
        self.off_screen.quotable += map(Item, texts)
        if texts or plan.attached.images:
            self.findings.sources.add(ATTACHMENT_SOURCE)
        if self.retrieval.beside:
            self.findings.sources |= set(turn.sources)
            self.off_screen.quotable += self.beside.quotable

    def _offered(self) -> list[Tool]:
        """The tools that are on, as many as the window has room to tell of."""
        services, plan = self.turn.services, self.plan
        gates = registry.ToolGateOpts(
            services.database,
            self.endpoint.supports_vision,
            bool(plan.attached),
            partial(background.are_chats_told, services.context, plan.chat_id),
        )
        tools = registry.offered(services.database, self.agent.tools, gates)
        embedder, first = services.embedder, plan.request.first_call
        nearness = partial(embedder.nearness, plan.message) if embedder else lambda texts: ()
        wanted = first.name if first else ""
        if not plan.gathers:  # else an empty source is an answer, too
            tools = [tool for tool in tools if tool.name == wanted or gates.holds(tool.name)]
        basic = registry.GATHERING if plan.about else registry.BASIC
        kept = registry.fitting(tools, self.window, wanted, nearness, basic)
        self.left["tools_left_out"] = len(tools) - len(kept), len(tools)
        return kept

    @property
    def plan(self) -> TurnPlan:
        return self.turn.plan

    @property
    def database(self) -> Database:
        return self.turn.database

    @property
    def agent(self) -> AgentServices:
        agent = self.turn.services.agent
        assert agent is not None  # a turn without has no tools, and nothing to call
        return agent

    @property
    def endpoint(self) -> Endpoint:
        """Where the model is asked, as it is set now: it may change while a turn waits for a person."""
        return self.turn.services.models.endpoint(self.model.name)

    def is_current(self, connection: apsw.Connection) -> bool:
        """Whether nothing was deleted since the turn was asked, and its frames have the pictures it shows."""
        return self.turn.is_current(connection) and self.pictures.are_current(connection)

    @property
    def messages(self) -> list[Message]:
        return [*self.head, *self.rounds]

    @property
    def room(self) -> int:
        """Tokens that the messages of a request may have."""
        definitions = 0 if self.form else sum(tool.tokens for tool in self.tools)
        return self.window - reserve(self.window) - definitions

    def compose(self) -> None:
        """Make the head for the window: at first the frames have all there is, then half of it, for the other
        half is for what tools gave. Raises `ContextTooLong` where a question that rests on frames alone has
        room for none.
        """
        plan, merged = self.plan, self.endpoint.single_system
        can_read = any(tool.name == read_attachment.name for tool in self.tools)
        self.files = attachments.attachment_text(
            plan.attached,
            lambda number, count: text_of(self.database, number, 0, count),
            attachments.MAX_ATTACHED_CHARS,
            self.window // 4,
            can_read=can_read,
        )
        room = self.room - tokens_of(system_messages(self.blocks, merged=merged))
        room -= upper_tokens(self.files.text) + PICTURE_TOKENS * len(self.pictures.pictures)
        whole = self._packed(_EVERYTHING, is_fuller=False)
        wanted = upper_tokens(whole.text) + len(whole.entries)
        history = recent(self.turn.history, max(room // 4, room - wanted), plan)
        self.left["turns_left_out"] = len(self.turn.history) - len(history), len(self.turn.history)
        sent = [message for exchange in history for message in exchange]
        room -= tokens_of(sent)
        packed = self._packed(room // 2 if self.rounds else room)
        if whole.entries and not packed.entries and not plan.uses_tools:
            raise ContextTooLong(f"the model's context of {self.window} tokens holds no frame")
        if not self.rounds:
            self.packed = packed
        question = "\n\n".join(filter(None, (self.files.text, packed.text, self.pictures.told)))
        asked = Message("user", question, pictures=self.pictures.pictures)
        self.head = [*system_messages(self.blocks, merged=merged), *sent, asked]

    def _packed(self, room: int, *, is_fuller: bool = True) -> Packed:
        plan, entries = self.plan, self.retrieval.entries
        if plan.shows_anchor or not (entries or self.retrieval.beside):  # its message holds the frames
            return Packed(plan.question, entries, 0)
        # What is asked for as evidence shows as much of each frame as of any other.
        is_fuller = is_fuller and plan.mode != "evidence"
        with_room = partial(
            pack, self.retrieval, plan.question, plan.zone, words=plan.words, is_fuller=is_fuller
        )
        estimated, packed = room, with_room(room)
        while packed.entries and (size := upper_tokens(packed.text)) > room:
            estimated = min(estimated - 1, estimated * room // size)
            packed = with_room(estimated)
        has_any = packed.entries or (self.retrieval.beside and not entries)
        return packed if has_any else replace(packed, text=plan.question)

    def fit(self) -> None:
        """Keep the rounds within the room, as far as frames make way and results can be left out."""
        if self.rounds and tokens_of(self.messages) > self.room:
            self.compose()
        before = len(self.head)
        messages, *counts = fit(self.messages, self.room)
        self.head, self.rounds = messages[:before], messages[before:]
        for name, count in zip(("results_left_out", "results_shortened"), counts, strict=True):
            self.left[name] = self.left.get(name, (0, 0))[0] + count, 0

    def shrink(self, refusal: ContextTooLong) -> bool:
        """The window that was named, which is kept, else half of what was refused, for all that follows in
        the turn; False where nothing can be left out.
        """
        sent = self.messages
        is_named = 0 < refusal.window < self.window
        self.window = refusal.window if is_named else (tokens_of(sent) + self.window - self.room) // 2
        if is_named:
            self.turn.services.models.note(self.model.name, Abilities(context_tokens=refusal.window))
        if is_named and not self.rounds:
            self.begin()
        else:
            self.compose()
            self.fit()
        return self.messages != sent

    def refusal(self, ending: ModelError | Cancelled) -> ModelError | None:
        """What came instead of the first answer, where the tools of its request may be why: some servers
        refuse them, others fail.
        """
        if not self.tools or self.form or self.usages or isinstance(ending, ContextTooLong | ModelUnknown):
            return None
        return ending if isinstance(ending, ModelRefused | ModelFailed) else None

    def close_tools(self) -> None:
        """Let the model answer with what it has: nothing is on offer any more."""
        self.tools = []
        if self.form:  # told of them in the prompt
            self.blocks = tuple(block for block in self.blocks if block.name not in _OF_TOOLS)
            self.compose()
        self.rounds.append(Message("user", PROMPTS["answer_now"]))

    def warn(self) -> None:
        """Say in the turn what the model did not get as a whole."""
        language, frames = self.plan.language, self.packed.left_out
        left = self.left | {"left_out": (frames, frames + len(self.packed.entries))}
        self.turn.warnings += [text(name, language, count=n, total=of) for name, (n, of) in left.items() if n]
        if self.window < self.model.context_tokens and not self.rounds:
            self.turn.warnings.append(text("shrunk", language, tokens=self.window))


def recent(history: Sequence[Exchange], room: int, plan: TurnPlan) -> list[Exchange]:
    """The end of a conversation that fits, in whole exchanges; one whose results do not fit comes without
    them. What a conversation about a frame or a moment began with always comes along.
    """
    opening, rest = (history[:1], history[1:]) if plan.about else ([], history)
    room -= sum(map(tokens_of, opening))
    kept: list[Exchange] = []
    for exchange in reversed(rest):
        forms = (exchange, (exchange[0], exchange[-1]))
        fitting = next((form for form in forms if tokens_of(form) <= room), None)
        if fitting is None:
            break
        kept.insert(0, fitting)
        room -= tokens_of(fitting)
    return [*opening, *kept]


# -- making room among results ----------------------------------------------------------------

LEFT_OUT = '{"note": "left out: it no longer fits"}'
MIN_CHARS = 400
"""What is left of a result at least that is shortened."""


def fit(messages: Sequence[Message], room: int) -> tuple[list[Message], int, int]:
    """The messages within `room` tokens, as far as leaving out results can do that; how many were left out
    for it, and how many shortened.
    """
    fitted, left_out, shortened = list(messages), 0, 0
    over = tokens_of(messages) - room
    answers_at = [at for at, message in enumerate(messages) if message.role == "assistant"]
    last_round = answers_at[-1] if answers_at else len(messages)
    for at, message in enumerate(messages):
        opening = f"{RESULTS}\n" if message.content.startswith(RESULTS) else ""
        if over <= 0 or not (opening or message.role == "tool"):
            continue
        result = message.content.removeprefix(opening)
        told = LEFT_OUT if at < last_round else _beginning(result, over)
        if len(told) < len(result):
            fitted[at] = replace(message, content=opening + told)
            over -= tokens_of([message]) - tokens_of([fitted[at]])
            left_out += at < last_round
            shortened += at >= last_round
    return fitted, left_out, shortened


def _beginning(result: str, over: int) -> str:
    """As much of a result as makes it `over` tokens smaller, but `MIN_CHARS` at least."""

    def told(count: int) -> str:
        note = "only its beginning: the rest no longer fits"
        return json.dumps({"note": note, "beginning": result[:count]}, ensure_ascii=False)

    # A token is rarely less than a character; quotation marks of the whole are escaped in its part.
    size = max(1, upper_tokens(result))
    kept = len(result) * max(0, size - over - upper_tokens(told(0)) - 5) // size
    return told(max(MIN_CHARS, kept))


# -- the system prompt --------------------------------------------------------------------------
#
# Made anew for each request; one builder for all models and modes. A person decides the first two blocks: the
# prompt of the model, and the identity. The hard rules stand after them, are never stored, and cannot be
# replaced. `assistant.core.prompt_blocks` has the order, and ``core/prompts.toml`` the words.


def blocks(
    plan: TurnPlan,
    tools: Sequence[Tool] = (),
    settings: ToolsSettings | None = None,
    form: str = "",
    *,
    sees: bool = False,
) -> tuple[Block, ...]:
    """The system prompt of a turn, with tools or without; with none on offer it says nothing of tools.

    `form` is the text format that the model is told its tools in, '' for the endpoint's own. `sees` where
    pictures come with the question.
    """
    settings = settings or ToolsSettings()
    rounds = settings.max_iterations
    return in_order(
        model_prompt=plan.model_prompt,
        identity=plan.voice.identity,
        rules=_rules(plan, sees=sees),
        guidance=guidance(tools, rounds, plan.owner, settings.examples, gathers=plan.gathers)
        if tools
        else "",
        tools=tools_as_text(definitions(tools), form) if tools and form else "",
        time=time_block(plan),
        budget=BUDGET_NOTE.format(rounds=rounds) if tools else "",
        background=background_block(plan.context.system_augmentation),
    )


def _rules(plan: TurnPlan, *, sees: bool) -> str:
    if not plan.uses_tools:
        return EVIDENCE_RULES.replace(*PROMPTS["no_pictures"]) if sees else EVIDENCE_RULES
    if plan.mode == "agent" and plan.about is None:
        return TOOL_RULES
    # The frames of the first look, or of what the conversation is about, stand in a message.
    also_screen_data = PROMPTS["tools_and_screen_data"].format(begin=OPEN, end=CLOSE)
    return TOOL_RULES.replace(PROMPTS["only_tools"], also_screen_data)


def time_block(plan: TurnPlan) -> str:
    """Block 6: now, zone and offset; the range in local time where one was asked about."""
    zone = plan.zone
    offset = preferences.utc_offset(plan.now_ms, zone)
    now = f"Now: {local_time(plan.now_ms, zone)}\nTime zone: {plan.request.timezone} ({offset})"
    if not plan.has_range:
        return now
    start, end = local_time(plan.start_ms, zone), local_time(plan.end_ms, zone)
    return f"{now}\nRequested range: {start} to {end}, the end not included"


def guidance(
    tools: Sequence[Tool], rounds: int, owner: str = "", examples: str = "", *, gathers: bool = True
) -> str:
    """Block 4: how to work with the tools that are on. A line about tools that are all off is left out, and
    one for a turn that `gathers` its context, or for one that does not, where this is not one.

    `owner` names whose screen this is, `examples` are worked ones and come last; both '' where none are set.
    """
    names = {tool.name for tool in tools}
    lines = ["Tool-use guidance:"]
    for line in PROMPTS["guidance"]:
        if line.get("gathers", gathers) is not gathers:
            continue
        offered = line.get("joint", ", ").join(name for name in line.get("tools", ()) if name in names)
        if offered or "tools" not in line:
            lines.append(f"- {line['text'].format(tools=offered, rounds=rounds)}")
    if person := " ".join(owner.split()):
        lines.append(OWNER_NOTE.format(owner=person))
    return "\n".join([*lines, *([examples.strip()] if examples.strip() else [])])
