"""A finished turn: the answer, its evidence, its claims and its coverage; also as a file."""

from __future__ import annotations

from typing import Literal
from zoneinfo import ZoneInfo

from flask import Response
from pydantic import AliasPath, Field

from assistant.core.records import OnFrame, Scope, SentenceOpinion, TurnResult
from assistant.core.texts import answer_language
from assistant.retrieval import coverage
from engines.chat.protocol import Usage
from store.core.times import to_seconds
from webapp.api.endpoint import TURN, endpoint
from webapp.api.frames import BoxAnswer
from webapp.api.values import Answer, GapAnswer, OrNull, Request, SpanAnswer, Timestamp
from webapp.exports.files import FORMATS, answer_file, export_pack
from webapp.exports.pack import Size


class RangeAnswer(SpanAnswer):
    timezone: str


class ScopeAnswer(SpanAnswer):
    """What the question was understood to be about."""

    text: str = Field(description="In words, in the language of the question.")
    everything: bool = Field(validation_alias="is_everything", description="It named nothing narrower.")
    phrase: str = Field(description="The words that named the time; empty when none did.")
    is_so_far: bool = Field(description="It ends now because more of it is still to come.")
    unread: str = Field(description="Words of time that were not understood; the answer leaves them out.")
    also: list[SpanAnswer] = Field(description="Other ranges that the words may mean, nearest first.")


class WayAnswer(Answer):
    """Which way the answer went."""

    text: str = Field(description="In one line, in the language of the question.")
    frames_read: int
    tools: int = Field(description="Calls of tools that gave something.")
    seconds: float


class RetrievedAnswer(Answer):
    """A frame that was looked at."""

    frame_id: int | None = Field(description="Null once the frame was deleted.")
    timestamp: Timestamp = Field(validation_alias="captured_ms")
    app_name: str | None
    window_name: str | None


class EvidenceAnswer(RetrievedAnswer):
    """A frame of this turn's selection; `n` is its citation number, null when it was not cited."""

    n: int | None
    local_time: str
    focused: bool | None
    browser_url: str | None
    ocr_snippet: str
    quote: str
    boxes: list[BoxAnswer] = Field(description="Where the quote stands, in pixels of the frame.")
    state: str = Field(description="found, not_found, not_checked, retrieved or deleted.")
    confidence: float | None = Field(
        description="How sure the reader was of the least sure word of the quote, 0 to 1; null when unknown."
    )
    frame_url: str | None


class ClaimAnswer(Answer):
    """One sentence of the answer, `answer_md[start:end]`, with the numbers it cites."""

    text: str
    start: int
    end: int
    citations: list[int]
    state: str = Field(
        description="cited (no more is said than that it cites frames), not_on_frame (its quote, or words "
        "of it, stand on none of the frames it cites), seen (such words, where the model was shown a "
        "picture of such a frame), no_source (it cites nothing, or no text), measured (a duration "
        "or count that code worked out), from_source (it quotes what a tool returned of another source), "
        "or not_from_screen (nothing recorded was looked at for it)."
    )
    missing: list[str] = Field(
        description="Words that stand on none of the cited frames; with no_source, the figures, dates, "
        "names and quotations that have no source."
    )
    on_frame: list[OnFrame] = Field(description="Words of it that stand on a cited frame.")
    seen: list[int] = Field(description="Those of its numbers whose pictures the model was shown.")


class FailureAnswer(Answer):
    """Why an answer did not come, or not to its end."""

    code: str
    message: str
    action: str


class SecondReadingAnswer(Answer):
    """What a model thinks of the answer: an opinion, that proves nothing."""

    model: str
    at: Timestamp = Field(validation_alias="at_ms")
    sentences: list[SentenceOpinion]
    left_out: int = Field(description="Sentences that did not fit into the model's window.")
    error: FailureAnswer | None = Field(description="Why the last attempt came to nothing.")


class CauseAnswer(Answer):
    """How long is nobody's for one cause: no picture, or idle."""

    cause: str = Field(description="paused, excluded, locked, asleep, idle, not_running, deleted or failed.")
    seconds: float


class QueryAnswer(SpanAnswer):
    """A search of the range; `q` is empty for frames spread evenly over it."""

    app_name: str | None = Field(validation_alias=AliasPath("filters", "app_name"))
    window_name: str | None = Field(validation_alias=AliasPath("filters", "window_name"))
    browser_url: str | None = Field(validation_alias=AliasPath("filters", "browser_url"))
    focused: bool | None = Field(validation_alias=AliasPath("filters", "focused"))
    q: str = Field(validation_alias="text")
    strategy: str = Field(validation_alias="way", description="spread, or how GET /search found it.")
    fallback_reason: OrNull = Field(
        validation_alias="fallback", description="Why meaning played no part in it."
    )
    hits: int
    hits_is_exact: bool = Field(validation_alias="is_exact")


class CoverageAnswer(Answer):
    frames_in_range: int
    frames_sampled: int
    frames_relevant: int = Field(
        validation_alias="relevant", description="Those of the sampled frames that a search found."
    )
    frames_unread: int = Field(
        validation_alias="unread", description="Frames of the range whose text is not read yet."
    )
    frames_unembedded: int = Field(
        validation_alias="unembedded", description="Frames of the range not yet found by meaning."
    )
    imported: int = Field(description="Pictures of the range that were imported: they count no time.")
    gaps: list[GapAnswer]
    causes: list[CauseAnswer]
    queries: list[QueryAnswer]
    index_fresh_to: Timestamp | None
    statements: list[coverage.Statement] = Field(
        description="About what was looked at, in the language of the question."
    )


class AttachmentAnswer(Answer):
    """A file that was attached. It belongs to a turn once that was asked."""

    id: int
    name: str
    kind: Literal["text", "html", "pdf", "docx", "image"]
    media_type: str
    size_bytes: int
    sha256: str
    characters: int = Field(description="Of its text; 0 for an image.")
    is_whole: bool = Field(description="False when there is more in the file than could be read.")
    pages: int | None
    width: int | None
    height: int | None
    added_at: Timestamp
    chat_id: int | None
    turn_id: int | None = Field(validation_alias="turn")


class TurnAnswer(Answer):
    chat_id: int
    turn_id: int = Field(description="Number of the turn in its chat, from 1.")
    mode: Literal["auto", "evidence", "agent"]
    model: str
    answer_md: str
    cut_off: bool = Field(
        validation_alias="is_cut_off",
        description="It was stopped or broke off: this is as far as it came.",
    )
    error: FailureAnswer | None = Field(description="Why it broke off; null where nothing failed.")
    time_range: RangeAnswer
    scope: ScopeAnswer
    way: WayAnswer | None = Field(description="Null for an answer from before this was kept.")
    evidence: list[EvidenceAnswer] = Field(description="The frames that the answer cites, by number.")
    retrieved: list[RetrievedAnswer] = Field(description="The other frames that were looked at, by time.")
    claims: list[ClaimAnswer]
    coverage: CoverageAnswer
    sources: list[str] = Field(
        description="What it was told beside frames (attachments, calendar, days, location, messages, "
        "places, remembered). None of it is evidence."
    )
    attachments: list[AttachmentAnswer] = Field(description="The files that the question brought.")
    usage: Usage | None
    second_readings: list[SecondReadingAnswer] = Field(description="By POST …/check, one a model.")
    warnings: list[str]
    dropped_citations: int = Field(
        validation_alias="dropped", description="Ids in the model's answer that name nothing it was given."
    )


def scope_answer(scope: Scope) -> ScopeAnswer:
    also = [SpanAnswer(start_time=start, end_time=end) for start, end in scope.also]
    return ScopeAnswer.of(scope, also=also)


def turn_answer(result: TurnResult) -> TurnAnswer:
    return TurnAnswer.of(
        result,
        evidence=[item for item in result.evidence if item.n is not None],
        retrieved=[item for item in result.evidence if item.n is None],
        time_range=RangeAnswer.of(result),
        coverage=CoverageAnswer.of(
            result.coverage,
            causes=[
                CauseAnswer(cause=cause, seconds=to_seconds(ms))
                for cause, ms in coverage.causes(result.coverage.gaps).items()
            ],
            statements=coverage.statements(
                result.coverage, ZoneInfo(result.timezone), answer_language(result.question)
            ),
        ),
        scope=scope_answer(result.scope),
        way=WayAnswer.of(
            result.way,
            text=coverage.way(result, answer_language(result.question)),
            seconds=result.way.duration_ms / 1000,
        )
        if result.way
        else None,
    )


# -- as a file --------------------------------------------------------------------------------


class ExportQuery(Request):
    files: Literal["0", "1"] = Field("0", description="Whether attached files come along in the zip.")
    fmt: Literal["md", "html", "zip", "proof"] = Field(
        "zip", description="`proof` is the zip with the whole screens and all that was read of them."
    )
    pictures: Literal["crop", "full", "none"] = Field(
        "crop",
        description="What comes along of each cited frame: its quoted words with what stands around them, if "
        "they are boxed, or the whole screen.",
    )


@endpoint(
    "GET",
    f"{TURN}/export",
    "An answer with its evidence",
    {409: "turn_not_answered, changed_meanwhile"},
    media_types=tuple(media_type.partition(";")[0] for media_type in FORMATS.values()),
)
def export(chat_id: int, turn_id: int, query: ExportQuery) -> Response:
    """Markdown, one HTML file without scripts, or a zip of both with `evidence.json`, pictures and signed
    hashes, which `recollect verify-export` checks. What is deleted later stays in it.

    Deleted frames, and windows that a privacy rule of today leaves out, are never in it; nor is an answer
    that may tell of such a window.
    """

    size: Size = "full" if query.fmt == "proof" else query.pictures
    with export_pack(chat_id, turn_id, lambda n: size, with_files=query.files == "1") as pack:
        return answer_file(pack, query.fmt)
