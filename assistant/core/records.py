"""What goes into a turn and what comes out of it.

A turn is one question and its answer. `TurnRequest` goes in; `TurnEvent`s come out while it runs,
and the last one carries the `TurnResult`, which `stored_turn` rebuilds field by field. Times are
epoch milliseconds; ranges are half-open. Nothing here is from the model unchecked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from assistant.formats.parsing import Call
from engines.chat.protocol import Usage
from store.chats.attachments import Attachment
from store.chats.records import Anchor, StoredEvidence
from store.chats.tool_calls import ToolCall
from store.ocr.readings import MIN_CONFIDENCE
from store.ocr.readings import Box as Box
from store.timeline.gaps import Gap

MAX_MESSAGE_CHARS = 8_000
MAX_PROMPT_CHARS = 20_000
"""As whom a model speaks in one turn (`system_prompt`)."""
MAX_NOTE_CHARS = 200
NO_VOICE = 0
"""`persona_id` of a turn for which nobody was chosen; None is where nothing was said of it."""
ATTACHMENT_SOURCE = "attachments"
"""What a turn that was told of files names among its sources."""

Mode = Literal["auto", "evidence", "agent"]
"""``auto`` goes as far as the model can; ``evidence`` is one look and one call; ``agent`` needs tools."""
EvidenceState = Literal["found", "not_found", "not_checked", "retrieved", "deleted"]
ClaimState = Literal[
    "cited", "not_on_frame", "seen", "no_source", "measured", "from_source", "not_from_screen"
]
SOURCED: tuple[ClaimState, ...] = ("cited", "seen", "measured", "from_source")
"""States of a sentence that rests on something."""
Opinion = Literal["does_not_support", "cannot_tell", "supports"]
TurnStatus = Literal["running", "done", "failed"]
Stage = Literal["searching", "thinking", "waiting"]


@dataclass(frozen=True, slots=True)
class TurnFilters:
    """Which frames count: app, window and machine as for search, everything beside the range."""

    app_name: str | None = None
    window_name: str | None = None
    browser_url: str | None = None
    focused: bool | None = None
    host: str | None = None

    def given(self) -> dict[str, Any]:
        """Those that are set."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A question. Without `start_ms` the range is looked for in the message; with none there, it is about
    everything that is remembered. `frame_id` is the frame that it is about, `pictures` whether pictures may
    go along where the settings ask first.

    `end_ms` defaults to `now_ms`, the asker's clock; `timezone` is an IANA name. `system_prompt`
    replaces the identity block of the prompt and nothing else; `persona_id` names who speaks where
    it is missing, and `style_note` is put under either, for this turn alone. Frames in `without` are not
    looked at: the person said that they are no source for this. A day begins `day_start_min` minutes
    after midnight, a week on the weekday `week_start` (0 is Monday). `anchor` begins a conversation about it;
    `amend` asks for a new version of the insight that the chat holds. `session_id` is the window that it is
    asked in; one of another chat is passed over. `attachments` are ids of files that it brings.
    `first_call` is made before a model with tools is asked: one that failed, tried again. `said` is what was
    said before a new chat, as (role, text).
    """

    message: str
    timezone: str
    now_ms: int
    start_ms: int | None = None
    end_ms: int | None = None
    chat_id: int | None = None
    filters: TurnFilters = field(default_factory=TurnFilters)
    model: str | None = None
    mode: Mode = "auto"
    system_prompt: str | None = None
    persona_id: int | None = None
    style_note: str = ""
    without: tuple[int, ...] = ()
    day_start_min: int = 0
    week_start: int = 0
    first_call: Call | None = None
    anchor: Anchor | None = None
    amend: bool = False
    session_id: int | None = None
    context_version: str = ""
    attachments: tuple[int, ...] = ()
    said: tuple[tuple[str, str], ...] = ()
    frame_id: int | None = None
    pictures: bool = False


def frame_url(frame_id: int) -> str:
    """Where the frame's picture is; the only place that makes this address."""
    return f"/api/v1/frames/{frame_id}"


@dataclass(frozen=True, slots=True)
class EvidenceItem(StoredEvidence):
    """One frame of this turn's selection, with its time as its asker's clock showed it.

    `n` is its number in the answer, by first use; None for one that was retrieved and not cited.
    `state` is an `EvidenceState`: ``retrieved`` for those; ``found`` is said only after a deterministic
    check, with `boxes` around the quoted words.
    """

    boxes: tuple[Box, ...] = ()
    local_time: str = ""

    @property
    def ocr_snippet(self) -> str:
        return self.snippet

    @property
    def frame_url(self) -> str | None:
        return None if self.frame_id is None else frame_url(self.frame_id)

    @property
    def is_doubtful(self) -> bool:
        """Whether the reader was unsure of a quoted word: it stands there as it was read."""
        return self.state == "found" and self.confidence is not None and self.confidence < MIN_CONFIDENCE


@dataclass(frozen=True, slots=True)
class OnFrame:
    """``answer_md[start:end]`` stands on the frame that is cited as `n`."""

    start: int
    end: int
    n: int


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of the answer, ``answer_md[start:end]``, with the numbers it cites.

    `on_frame` are its words that stand on a cited frame. `missing` are those that make it a warning: of a
    sentence that is ``not_on_frame`` the words that stand on none of its frames, of one with
    ``no_source`` its figures, dates, names and quotations; without any it is only marked quietly. `seen`
    are the cited frames whose pictures the model was shown: one that was ``seen`` has its words from there.
    """

    text: str
    start: int
    end: int
    citations: tuple[int, ...]
    state: ClaimState
    missing: tuple[str, ...] = ()
    on_frame: tuple[OnFrame, ...] = ()
    seen: tuple[int, ...] = ()
    source: str = ""
    """Of words that code quotes from another source, which, with its `address`."""
    address: str = ""


_FORMER_STATES: Mapping[str, ClaimState] = {
    "found": "cited",
    "paraphrase": "cited",
    "not_checked": "cited",
    "not_found": "not_on_frame",
    "no_evidence": "no_source",
}


def claim_state(stored: Mapping[str, Any]) -> ClaimState:
    """The state of a claim as it was stored, also by a version that called it otherwise."""
    return _FORMER_STATES.get(stored["state"], stored["state"])


@dataclass(frozen=True, slots=True)
class SentenceOpinion:
    """What a model thinks of the sentence ``answer_md[start:end]`` beside its quotes."""

    start: int
    end: int
    opinion: Opinion


@dataclass(frozen=True, slots=True)
class SecondReading:
    """What `model` thinks of an answer. `left_out` sentences had no room in its window; `error` says why the
    last attempt came to nothing, and what it thought before stays.
    """

    model: str
    at_ms: int
    sentences: tuple[SentenceOpinion, ...] = ()
    left_out: int = 0
    error: TurnError | None = None

    @property
    def doubted(self) -> frozenset[tuple[int, int]]:
        """The places of the sentences that it does not find in their quotes."""
        return frozenset(
            (each.start, each.end) for each in self.sentences if each.opinion == "does_not_support"
        )


@dataclass(frozen=True, slots=True)
class Query:
    """One search the turn ran, so that a person can run it again.

    `text` is what was searched for, '' for frames spread over the range. `way` is ``spread`` or a
    strategy of `store.search.search`; `fallback` says why meaning played no part in it, '' when it did.
    `hits` are all frames found, `is_exact` false when there are more.
    """

    start_ms: int
    end_ms: int
    filters: TurnFilters
    hits: int
    text: str = ""
    way: str = "spread"
    is_exact: bool = True
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a question is about; `text` says it in the language of the question.

    `is_everything` when it named nothing narrower. `also` are other ranges that its words may mean, nearest
    first, as (start_ms, end_ms); `phrase` are those words, '' for none. `is_so_far`: the range ends now
    because more of it is still to come. `unread` are words of time that were not understood. `left_out` are
    stretches between times that were named ("Monday and Wednesday"), `follows` the question before that one
    without words of its own goes on from. `ahead` is a time to come, with the one that is over
    where the words may mean both: nobody has seen it, and what is asked is what the screens say of it.
    """

    text: str
    start_ms: int
    end_ms: int
    is_everything: bool = False
    also: tuple[tuple[int, int], ...] = ()
    phrase: str = ""
    is_so_far: bool = False
    unread: str = ""
    left_out: tuple[tuple[int, int], ...] = ()
    follows: str = ""
    ahead: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was looked at, and what could not be.

    `relevant` of the sampled frames were found by a search, the others are spread over the range.
    `is_found` is false when the words asked for are on no frame of it. `unread` and `unembedded`
    frames of the range could not be found yet, by words and by meaning. `unread_scripts` (ISO 15924) are in
    the words asked for, and no frame of the range was read for them. `imported` pictures of the range are
    moments, which no time counts.
    """

    frames_in_range: int
    frames_sampled: int
    gaps: tuple[Gap, ...] = ()
    queries: tuple[Query, ...] = ()
    index_fresh_to_ms: int | None = None
    relevant: int = 0
    is_found: bool = True
    unread: int = 0
    unembedded: int = 0
    unread_scripts: tuple[str, ...] = ()
    imported: int = 0
    by_tools: bool = False  # the sampled frames are what tools returned, of no particular range


@dataclass(frozen=True, slots=True)
class TurnError:
    """Why a turn failed: a code for programs, a sentence for people, and what they can do."""

    code: str
    message: str
    action: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """Which way a turn went: frames that were read for it, calls of tools that gave something, how long."""

    frames_read: int = 0
    tools: int = 0
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class TurnResult:
    """A turn as it is stored. Failed, it has an `error`, what was retrieved, and as much of an answer as
    was said before it broke off. An answer that is not all that would have been said `is_cut_off`.

    `dropped` counts the ids the model cited that name nothing this turn retrieved. `sources` names what it
    rests on beside frames; none of it is evidence. `attachments` are the files of the question.
    """

    chat_id: int
    turn_id: int
    mode: Mode
    model: str
    question: str
    answer_md: str
    start_ms: int
    end_ms: int
    timezone: str
    evidence: tuple[EvidenceItem, ...]
    claims: tuple[Claim, ...]
    coverage: Coverage
    scope: Scope
    usage: Usage | None = None
    warnings: tuple[str, ...] = ()
    dropped: int = 0
    error: TurnError | None = None
    status: TurnStatus = "done"
    created_ms: int = 0
    sources: tuple[str, ...] = ()
    is_cut_off: bool = False
    attachments: tuple[Attachment, ...] = ()
    way: Way | None = None
    second_readings: tuple[SecondReading, ...] = ()


@dataclass(frozen=True, slots=True)
class StatusEvent:
    """The turn has reached a stage; `message` says so in the language of the question."""

    stage: Stage
    message: str
    chat_id: int
    turn_id: int


@dataclass(frozen=True, slots=True)
class EvidenceEvent:
    """What was retrieved, before any prose: nothing is cited or checked yet."""

    evidence: tuple[EvidenceItem, ...]
    coverage: Coverage
    scope: Scope


@dataclass(frozen=True, slots=True)
class DeltaEvent:
    """More of what the model says, before anything of it is checked. `part` counts its answers from 1:
    what it says before a round of tools, and at last the answer.
    """

    part: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """A call as it stands now; the same `call.id` comes again when its state changes."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ApprovalEvent:
    """The turn waits for a person to decide about these calls."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class TextEvent:
    """The checked answer."""

    answer_md: str


@dataclass(frozen=True, slots=True)
class FinalEvent:
    """The turn as it is stored; always the last event, also after an error."""

    result: TurnResult


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    error: TurnError


TurnEvent = (
    StatusEvent
    | EvidenceEvent
    | DeltaEvent
    | ToolCallEvent
    | ApprovalEvent
    | TextEvent
    | ErrorEvent
    | FinalEvent
)
