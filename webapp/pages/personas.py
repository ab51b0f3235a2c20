"""A persona tried on a real moment before it is saved: a turn like any other, of which nothing stays."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from assistant.core.errors import TurnRefused
from assistant.core.records import EvidenceItem, TurnRequest
from assistant.turns.turn import answer
from store.chats import conversations
from store.frames import frames
from store.timeline import segments
from webapp.api.questions import turn_deps
from webapp.core import formatting, markdown
from webapp.core.services import Services
from webapp.core.viewer import Viewer
from webapp.views.views_turns import claim_spans

QUESTION = "What was I doing here?"
MOMENTS = 8
_SHORTEST_MS = 30_000
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Moment:
    """A stretch of activity that a persona can be tried on."""

    start_ms: int
    end_ms: int
    label: str

    @property
    def key(self) -> str:
        return f"{self.start_ms}-{self.end_ms}"


@dataclass(frozen=True, slots=True)
class Trial:
    """What the persona said of a moment, or why it said nothing."""

    moment: Moment
    text: Markup | str = ""
    cited: tuple[EvidenceItem, ...] = ()
    model: str = ""
    problem: str = ""


def moments(own: Services, viewer: Viewer) -> list[Moment]:
    """The last stretches of some length, the latest first, of the day in which something was last seen."""
    last = frames.nearest(own.database, viewer.now_ms)
    if last is None:
        return []
    found = segments.segments(own.database, last.ended_ms - _DAY_MS, last.ended_ms + 1)
    long_enough = [each for each in found if each.end_ms - each.start_ms >= _SHORTEST_MS] or found
    return [
        Moment(
            each.start_ms,
            max(each.end_ms, each.start_ms + 1),
            f"{formatting.span(each.start_ms, each.end_ms, viewer.zone, viewer.now_ms)}, "
            f"{each.app_name or 'unknown app'}",
        )
        for each in reversed(long_enough[-MOMENTS:])
    ]


def run(own: Services, system_prompt: str, moment: Moment, viewer: Viewer) -> Trial:
    """Ask about a moment as this persona would be asked. The conversation is deleted with all it says; that
    something was sent stays on record.
    """
    question = TurnRequest(
        QUESTION,
        viewer.zone_name,
        viewer.now_ms,
        start_ms=moment.start_ms,
        end_ms=moment.end_ms,
        mode="evidence",
        system_prompt=system_prompt,
    )
    try:
        result = answer(turn_deps(own), question)
    except TurnRefused as refusal:
        return Trial(moment, problem=f"{str(refusal)[:1].upper()}{str(refusal)[1:]}.")
    conversations.delete(own.database, result.chat_id)
    if result.error:
        return Trial(moment, problem=f"{result.error.message} {result.error.action}".strip())
    cited = tuple(item for item in result.evidence if item.n is not None)
    addresses = {item.n: f"/frames/{item.frame_id}" for item in cited if item.n is not None}
    text = markdown.render(result.answer_md, addresses, claim_spans(result.claims))
    return Trial(moment, text, cited, result.model)
