"""Planted answers go through the turn's own code, and their verdicts are compared with its states.

A scripted model stands where a language model would: it sees the prompt, finds the ids of the frames
it wants to speak of, and answers what was planted. Everything else is the program's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from zoneinfo import ZoneInfo

from assistant.core.models import AnyModel, ChatModels
from assistant.core.records import Claim, TurnRequest, TurnResult
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer as answer_turn
from bench.planted import Answer, Part
from bench.planted.screens import Screen
from engines.chat.protocol import Completion, Message, RequestHook, Schema
from store.core.database import Database
from store.core.settings import ChatSettings

TRUSTED = ("found", "paraphrase", "measured")
"""States that a reader is not warned of."""

_SHOWN = re.compile(r"^\[\[(e\d+)\]\].*?^frame: (\d+) ", re.MULTILINE | re.DOTALL)
_PLACE = re.compile(r"\[\[([a-z_]+)\]\]")
_NOT_SAID = re.compile(r"\[\[[^\]]*\]\]|[\[【][^\]】]{0,20}[\]】]|[\s|*#`>.。:：,，!！?？-]")


@dataclass(slots=True)
class Tally:
    """Counts over some answers; `misses` name each one that came out wrong."""

    answers: int = 0
    supported: int = 0
    wrongly_flagged: int = 0
    unsupported: int = 0
    flagged: int = 0
    silent: int = 0  # parts that claim nothing
    silent_flagged: int = 0
    found_quotes: int = 0
    false_found: int = 0
    planted_ids: int = 0
    dropped_ids: int = 0
    misses: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)  # of each missed sentence: its language, verdict, states

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def recall(self) -> float:
        return self.flagged / self.unsupported if self.unsupported else 1.0

    @property
    def false_alarms(self) -> float:
        return self.wrongly_flagged / self.supported if self.supported else 0.0

    @property
    def precision(self) -> float:
        return 1 - self.false_found / self.found_quotes if self.found_quotes else 1.0


class _Scripted(ChatModels):
    """The models of a program in which one is set up, and that one says what is planted."""

    name = "planted"
    context_tokens = 200_000

    def __init__(self, screens: Mapping[str, Screen]) -> None:
        super().__init__(ChatSettings(), {})
        self.planted: Answer | None = None
        self._screens = screens

    def get(self, name: str | None = None) -> AnyModel:
        return self

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        timeout_s: float,
        on_send: RequestHook | None = None,
    ) -> Completion:
        """The planted answer, with the ids under which its frames are shown in the prompt."""
        assert self.planted is not None
        shown = {int(frame): name for name, frame in _SHOWN.findall(messages[-1].content)}
        ids = {scene: shown[self._screens[scene].frame_id] for scene in self.planted.scenes}
        said = _PLACE.sub(lambda place: f"[[{ids.get(place[1], place[1])}]]", self.planted.text)
        evidence = [{"id": ids[quote.scene], "quote": quote.words} for quote in self.planted.quotes]
        text = json.dumps({"answer_md": said, "evidence": evidence}, ensure_ascii=False)
        return Completion(text, None, self.name)


def judge(
    database: Database, screens: Mapping[str, Screen], zone: ZoneInfo, planted: Iterable[Answer]
) -> Tally:
    """What the program makes of the answers. Those about scenes that were not drawn are left out."""
    models = _Scripted(screens)
    now_ms = max(screen.captured_ms for screen in screens.values()) + 3_600_000
    deps = TurnServices(database, models, lambda: now_ms)
    tally = Tally()
    for answer in planted:
        if set(answer.scenes) <= screens.keys():
            models.planted = answer
            _count(tally, answer, answer_turn(deps, _request(answer, screens, zone, now_ms)), screens)
    models.close()
    return tally


def _request(answer: Answer, screens: Mapping[str, Screen], zone: ZoneInfo, now_ms: int) -> TurnRequest:
    """A question about the time of the frames that the answer speaks of: the range begins with the
    first and ends with the last of them, so that both are selected however many lie between.
    """
    times = [screens[scene].captured_ms for scene in answer.scenes or screens]
    message = "我做了什么？" if answer.language == "zh" else "What did I do?"
    return TurnRequest(message, zone.key, now_ms, min(times), max(times) + 1)


def _count(tally: Tally, answer: Answer, result: TurnResult, screens: Mapping[str, Screen]) -> None:
    assert result.error is None, result.error
    tally.answers += 1
    for part in answer.parts:
        states = [claim.state for claim in result.claims if _is_of(claim, part)]
        is_flagged = any(state not in TRUSTED for state in states)
        told = f"{answer.kind}: {part.text!r} -> {', '.join(states) or 'no claim'}"
        if part.verdict == "ok":
            tally.supported += 1
            tally.wrongly_flagged += is_flagged
        elif part.verdict == "bad":
            tally.unsupported += 1
            tally.flagged += is_flagged
        else:
            tally.silent += 1
            tally.silent_flagged += is_flagged
        if is_flagged != (part.verdict == "bad"):
            missing = [word for claim in result.claims if _is_of(claim, part) for word in claim.missing]
            tally.misses.append(told + (f" (missing {', '.join(missing)})" if missing else ""))
            wrongly = "trusted" if part.verdict == "bad" else "flagged"
            tally.reasons.append(f"{answer.language}, {wrongly} as {', '.join(states) or 'no claim'}")
    _count_quotes(tally, answer, result, screens)
    tally.planted_ids += answer.dropped
    tally.dropped_ids += min(answer.dropped, result.dropped)
    if result.dropped != answer.dropped:
        tally.misses.append(f"{answer.kind}: {answer.text!r} dropped {result.dropped} of {answer.dropped}")


def _count_quotes(tally: Tally, answer: Answer, result: TurnResult, screens: Mapping[str, Screen]) -> None:
    """A quote that is said to be found must be one that stands in that very frame."""
    false = [(screens[quote.scene].frame_id, quote.words) for quote in answer.quotes if not quote.stands]
    for item in result.evidence:
        if item.state == "found":
            tally.found_quotes += 1
            if any(frame_id == item.frame_id and words in item.quote for frame_id, words in false):
                tally.false_found += 1
                tally.misses.append(f"{answer.kind}: said to be found: {item.quote!r}")


def _is_of(claim: Claim, part: Part) -> bool:
    """Whether a claim is a sentence of this part."""
    said, planted = (_NOT_SAID.sub("", text) for text in (claim.text, part.text))
    return bool(said) and (said in planted or planted in said)
