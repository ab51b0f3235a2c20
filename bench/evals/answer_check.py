"""Ask known questions again, with the code and the model of today, and count how it went.

=============== ==============================================================================
groundedness    of the claims that answers make, those without a warning that cite frames or were measured
precision       of the cited frames about which something is known, those that are right
coverage        of the texts (or sources) that were expected, those that the answers give
=============== ==============================================================================

The judge shares no rule with the check of claims: what is right was known before anything was
asked. A case is asked as a turn of its own, without the conversation it may have stood in, and
leaves no chat behind.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import click

from assistant.core.errors import TurnRefused
from assistant.core.records import EvidenceItem, TurnFilters, TurnRequest, TurnResult
from assistant.core.texts import normalize
from assistant.turns import stored_turns
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from bench.sample_truth import Question, Truth
from store.chats import conversations, feedback
from store.chats.feedback import WHOLE_ANSWER, Report
from store.chats.records import StoredTurn
from store.core.database import Database
from webapp.cli.common import home_and_json, open_home, print_json

GROUNDED = frozenset({"cited", "measured"})
"""Claim states that rest on something and carry no warning."""

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
    grounded = Share(sum(claim.state in GROUNDED for claim in result.claims), len(result.claims))
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


# ---- answer cases
# Questions to be asked again, and what is known about their answers.
#
# Two sets: the sample week's own questions, whose answers were planted, and the turns a person said
# something about (`store.chats.feedback`).

Kind = Literal["facts", "gap", "not_found", "reported"]

_DAY_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Expected:
    """A text that the answer should give, and the frames that show it."""

    text: str
    frame_ids: frozenset[int]


@dataclass(frozen=True, slots=True)
class Case:
    """A question as it is asked again, at the asker's time, with what a right answer does.

    ``facts``: it gives the texts of `expected` and cites their frames. ``gap``: it cites nothing, and
    the coverage says `reason`. ``not_found``: it says that no frame holds what was asked for.
    ``reported``: it cites all of `right` and none of `wrong`.
    """

    id: str
    kind: Kind
    message: str
    start_ms: int
    end_ms: int
    timezone: str
    now_ms: int
    filters: TurnFilters = field(default_factory=TurnFilters)
    expected: tuple[Expected, ...] = ()
    reason: str = ""
    right: frozenset[int] = frozenset()
    wrong: frozenset[int] = frozenset()


def of_sample(week: Truth) -> Iterator[Case]:
    """The questions of a sample week, asked the day after it."""
    for question in week.questions:
        expected = tuple(
            Expected(
                text,
                frozenset(
                    frame.frame_id for name in question.scenes for frame in week.scene(name).showing(text)
                ),
            )
            for text in question.expects
        )
        yield _sample_case(question, week, expected)


def _sample_case(question: Question, week: Truth, expected: tuple[Expected, ...]) -> Case:
    return Case(
        question.id, question.kind, question.message, question.start_ms, question.end_ms, week.timezone,
        week.end_ms + _DAY_MS, expected=expected, reason=question.reason,
        right=frozenset(frame_id for one in expected for frame_id in one.frame_ids),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReportedTurn:
    turn: StoredTurn
    reports: tuple[Report, ...]


def reported_turns(database: Database) -> list[ReportedTurn]:
    """Every turn that was reported on, in the order they were asked."""
    chats = conversations.list_chats(database, 1_000_000)
    turns = [turn for chat in chats for turn in conversations.turns(database, chat.id)]
    reports = feedback.of_turns(database, [turn.id for turn in turns])
    reported = [ReportedTurn(turn, reports[turn.id]) for turn in turns if turn.id in reports]
    return sorted(reported, key=lambda each: (each.turn.created_ms, each.turn.id))


def of_reports(database: Database) -> Iterator[Case]:
    """The turns that were reported on and can still be judged: some frame is known right or wrong."""
    for reported in reported_turns(database):
        right, wrong = _frames(reported)
        if right or wrong:
            turn = stored_turns.result(reported.turn)
            queries = turn.coverage.queries
            yield Case(
                f"chat {turn.chat_id}, answer {turn.turn_id}", "reported", turn.question, turn.start_ms,
                turn.end_ms, turn.timezone, turn.created_ms, queries[0].filters if queries else TurnFilters(),
                right=right, wrong=wrong,
            )  # fmt: skip


def _frames(reported: ReportedTurn) -> tuple[frozenset[int], frozenset[int]]:
    """(right, wrong) frames. An answer that is right as a whole has right sources, but for those that
    were reported.
    """
    verdicts = {report.n: report.verdict for report in reported.reports}
    right: set[int] = set()
    wrong: set[int] = set()
    for item in reported.turn.evidence:
        verdict = verdicts.get(item.n or -1)
        if verdict is None and item.n is not None and verdicts.get(WHOLE_ANSWER) == "right":
            verdict = "right"
        if item.frame_id is not None and verdict is not None:
            (right if verdict == "right" else wrong).add(item.frame_id)
    return frozenset(right - wrong), frozenset(wrong)


# ---- checking
# `check-answers`: known questions, asked again with the code and the model of today.


@click.command("check-answers")
@home_and_json
@click.option("--model", help="Name of a configured model (extractive: none).")
@click.option("--limit", type=click.IntRange(1), help="Only the first so many questions.")
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="What --json printed before: fail where an answer was right and is no more.",
)
@click.option("--answers", "with_answers", is_flag=True, help="Print the answers, too.")
def check_answers(
    home: Path | None,
    as_json: bool,
    model: str | None,
    limit: int | None,
    against: Path | None,
    with_answers: bool,
) -> int:
    """Ask known questions again: are the answers still right, grounded and complete?

    In a sample week (`recollect demo`) its own questions are asked; in any home folder those whose
    sources were reported as right or wrong. No chat is left behind.
    """

    before = _right_before(against) if against else frozenset()
    deps, cases = open_cases(home)
    checked = []
    with click.progressbar(
        cases[:limit], label="Asking", file=sys.stderr, hidden=as_json or not _on_terminal()
    ) as shown:
        for case in shown:
            checked.append(check(deps, case, model))
    figures = total(checked)
    lost = [one.id for one in checked if one.id in before and not one.is_right]
    if as_json:
        print_json(
            {
                "figures": _numbers(figures),
                "lost": lost,
                "answers": [dataclasses.asdict(one) for one in checked],
            }
        )
    else:
        _print(checked, with_answers)
        for name in ("right", "groundedness", "precision", "coverage"):
            click.echo(f"{name:<14}{_percent(getattr(figures, name))}")
    if lost:
        raise click.ClickException(
            f"{len(lost)} answers were right before and are not now: {', '.join(lost)}"
        )
    return 0


def open_cases(home: Path | None) -> tuple[Any, list[Case]]:
    """(what a turn works with, the cases of this home)."""
    from assistant.core.models import ChatModels
    from assistant.turns.plan import TurnServices
    from bench import sample_truth
    from store.core.times import now_ms

    here = open_home(home)
    database = here.open_database()
    week = sample_truth.read(here.data_dir)
    cases = [*(of_sample(week) if week else ()), *of_reports(database)]
    if not cases:
        raise click.ClickException(
            "there is nothing to check here: report a source as right or wrong in a chat, or use the home "
            "folder of a sample week (`recollect demo`)"
        )
    return TurnServices(database, ChatModels(here.settings.chat), now_ms), cases


def _right_before(path: Path) -> frozenset[str]:
    """The cases that an earlier run found right. Raises `ClickException`."""
    try:
        document = json.loads(path.read_bytes())
        return frozenset(one["id"] for one in document["answers"] if one["is_right"])
    except (ValueError, KeyError, TypeError) as error:
        raise click.ClickException(f"{path.name} is not what --json printed: {error}") from error


def _print(checked: Sequence[Checked], with_answers: bool) -> None:
    for one in checked:
        if with_answers or not one.is_right:
            click.echo(f"{'OK' if one.is_right else 'X':<3}{one.id}  {one.message}")
            if one.why:
                click.echo(f"   {one.why}")
        if with_answers and one.answer_md:
            click.echo("   " + one.answer_md.replace("\n", "\n   "))


def _numbers(figures: Any) -> dict[str, Any]:
    return {
        name: {"count": share.count, "of": share.of, "share": share.value}
        for name, share in ((f.name, getattr(figures, f.name)) for f in dataclasses.fields(figures))
    }


def _percent(share: Share) -> str:
    return "nothing to count" if share.value is None else f"{share.value:6.1%}  {share.count} of {share.of}"


def _on_terminal() -> bool:
    return sys.stderr.isatty()
