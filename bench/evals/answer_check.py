"""Ask known questions again, with the code and the model of today, and count how it went (R3.74).

=============== ==============================================================================
groundedness    of the claims that answers make, those that code found to be proven
precision       of the cited frames about which something is known, those that are right
coverage        of the texts (or sources) that were expected, those that the answers give
=============== ==============================================================================

The judge shares no rule with the check of claims: what is right was known before anything was
asked. A case is asked as a turn of its own, without the conversation it may have stood in, and
leaves no chat behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assistant.core.errors import TurnRefused
from assistant.core.records import EvidenceItem, TurnRequest, TurnResult
from assistant.core.texts import normalize
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from bench.evals.answer_cases import Case, Expected, Kind
from store.chats import conversations

PROVEN = frozenset({"found", "measured"})
"""Claim states that are computed proof."""

_MOST_OF_A_GAP = 0.9
_MOST_WORDS = 0.6
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W\d_]{2,}|[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of`."""

    count: int = 0
    of: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.count + other.count, self.of + other.of)

    @property
    def value(self) -> float | None:
        """None where there was nothing to count."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Checked:
    """One case and how its answer did. `why` says in a few words what is not right, "" when all is."""

    id: str
    kind: Kind
    message: str
    is_right: bool
    why: str
    groundedness: Share = Share()
    precision: Share = Share()
    coverage: Share = Share()
    answer_md: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """A whole run."""

    right: Share
    groundedness: Share
    precision: Share
    coverage: Share


def check(deps: TurnServices, case: Case, model: str | None = None) -> Checked:
    """Ask one case again and judge the answer. What it says of `deps.clock` is the turn's own time."""
    try:
        result = answer(deps, request_of(case, model))
    except TurnRefused as error:
        return Checked(case.id, case.kind, case.message, False, str(error))
    conversations.delete(deps.database, result.chat_id)
    if result.error:
        return Checked(case.id, case.kind, case.message, False, result.error.message)
    return judge(case, result)


def request_of(case: Case, model: str | None = None) -> TurnRequest:
    """A case as it is asked."""
    return TurnRequest(
        message=case.message,
        timezone=case.timezone,
        now_ms=case.now_ms,
        start_ms=case.start_ms,
        end_ms=case.end_ms,
        filters=case.filters,
        model=model,
    )


def judge(case: Case, result: TurnResult) -> Checked:
    """How an answer compares with what is known."""
    cited = [item for item in result.evidence if item.n is not None]
    grounded = Share(sum(claim.state in PROVEN for claim in result.claims), len(result.claims))
    why, precision, coverage = {
        "facts": _facts, "gap": _gap, "not_found": _not_found, "reported": _reported,
    }[case.kind](case, result, cited)  # fmt: skip
    return Checked(
        case.id, case.kind, case.message, not why, why, grounded, precision, coverage, result.answer_md
    )


def total(checked: Iterable[Checked]) -> Figures:
    figures = Figures(Share(), Share(), Share(), Share())
    for one in checked:
        figures = Figures(
            figures.right + Share(int(one.is_right), 1),
            figures.groundedness + one.groundedness,
            figures.precision + one.precision,
            figures.coverage + one.coverage,
        )
    return figures


_Judged = tuple[str, Share, Share]


def _facts(case: Case, result: TurnResult, cited: Sequence[EvidenceItem]) -> _Judged:
    told = [_is_told(one, result.answer_md, cited) for one in case.expected]
    precision = Share(sum(item.frame_id in case.right for item in cited), len(cited))
    missing = [one.text for one, is_told in zip(case.expected, told, strict=True) if not is_told]
    why = f"does not say: {'; '.join(missing)}" if missing else ""
    return why, precision, Share(sum(told), len(told))


def _is_told(expected: Expected, answer_md: str, cited: Sequence[EvidenceItem]) -> bool:
    """Whether the answer gives a text, and cites a frame that shows it.

    Word for word in the answer or in a quote; or in other words, with every number of it and most of
    its words.
    """
    sources = [item for item in cited if item.frame_id in expected.frame_ids]
    if not sources:
        return False
    if any(_squeezed(expected.text) in _squeezed(text) for text in (answer_md, *(i.quote for i in sources))):
        return True
    said = normalize(answer_md)
    words = set(_WORD.findall(normalize(expected.text)))
    numbers = set(_NUMBER.findall(expected.text))
    shared = sum(word in said for word in words)
    return numbers <= set(_NUMBER.findall(answer_md)) and shared >= _MOST_WORDS * len(words)


def _gap(case: Case, result: TurnResult, cited: Sequence[EvidenceItem]) -> _Judged:
    length = sum(
        max(0, min(gap.end_ms, case.end_ms) - max(gap.start_ms, case.start_ms))
        for gap in result.coverage.gaps
        if gap.reason == case.reason
    )
    is_said = length >= _MOST_OF_A_GAP * (case.end_ms - case.start_ms)
    why = "" if is_said else f"does not say that the time is missing ({case.reason})"
    return ("cites frames of a gap" if cited else why), Share(0, len(cited)), Share(int(is_said), 1)


def _not_found(case: Case, result: TurnResult, cited: Sequence[EvidenceItem]) -> _Judged:
    # What is cited beside the admission shows what else there was, and is no evidence for the answer.
    if not cited or not result.coverage.is_found:
        return "", Share(), Share(1, 1)
    why = "answers something else instead of saying that it was not found"
    return why, Share(0, len(cited)), Share(0, 1)


def _reported(case: Case, result: TurnResult, cited: Sequence[EvidenceItem]) -> _Judged:
    shown = {item.frame_id for item in cited}
    wrong, kept = shown & case.wrong, shown & case.right
    why = "cites a source that was reported as wrong" if wrong else ""
    if not why and kept != case.right:
        why = "no longer cites a source that was right"
    return why, Share(len(kept), len(kept) + len(wrong)), Share(len(kept), len(case.right))


def _squeezed(text: str) -> str:
    """Without white space and Markdown's escapes: readings put spaces where a person would not."""
    return re.sub(r"[\s\\]", "", normalize(text))
