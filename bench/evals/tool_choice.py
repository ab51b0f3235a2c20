"""Does a model call the right tool with the right arguments? Known questions, scored.

Each question is put before the model as a turn with tools would put it, and what it calls first is
compared with what is known to be right. Nothing is carried out: no tool runs, nothing of the screen is
sent, no chat is left behind. Only the clock is read out to a model that asks for it first.

========= ==================================================================================
tool      of the questions, those where a right tool was called and no wrong one, or rightly none
arguments of the calls of a right tool, those whose arguments are right, too
right     of the questions, those where both are
========= ==================================================================================
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from assistant.core.egress_log import SentLedger
from assistant.core.prompt_blocks import system_messages
from assistant.core.records import TurnRequest
from assistant.core.texts import Language
from assistant.formats.parsing import Call
from assistant.read_api import calls
from assistant.read_api.calls import ReadRefused
from assistant.tools.general import calculate
from assistant.tools.registry import definitions
from assistant.tools.tool import Tool, ToolFailed
from assistant.turns import model_session, tool_execution
from assistant.turns.plan import TurnPlan, TurnServices, admit
from assistant.turns.tool_execution import result_text
from bench.evals.answer_check import Share
from engines.chat.protocol import ChatModel, Completion, Message, ModelError
from webapp.cli.common import home_and_json, open_home, print_json

if TYPE_CHECKING:
    from bench.evals.answer_check import Share


CLOCKS = frozenset({"get_current_time", "get_current_datetime"})
"""May be asked first by a model that wants to be sure of the time."""

_MAX_STEPS = 2
NOTHING = Share()
_CASES = Path(__file__).with_name("tool_choice_cases.json")

Outcome = Literal["right", "wrong", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Right:
    """A call that is right: its tool, and what each argument has to be (`_fits`)."""

    tool: str
    arguments: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and the calls of which any will do; none means that nothing should be called."""

    id: str
    language: Language
    message: str
    right: tuple[Right, ...]


@dataclass(frozen=True, slots=True)
class CaseSet:
    now_ms: int
    timezone: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """How one question went. `called` is what the model wanted; `why` says what is not right."""

    id: str
    language: Language
    message: str
    outcome: Outcome
    called: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    tool: Share = NOTHING
    arguments: Share = NOTHING
    why: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    right: Share = NOTHING
    tool: Share = NOTHING
    arguments: Share = NOTHING


@lru_cache(maxsize=1)
def case_set() -> CaseSet:
    """The questions that come with the program."""
    kept = json.loads(_CASES.read_text(encoding="utf-8"))
    cases = tuple(
        Case(
            each["id"],
            each["language"],
            each["message"],
            tuple(Right(one["tool"], one["arguments"]) for one in each["right"]),
        )
        for each in kept["cases"]
    )
    return CaseSet(_ms(kept["now"]), kept["timezone"], cases)


def check(deps: TurnServices, tools: Sequence[Tool], case: Case, model: str | None = None) -> Choice:
    """Ask one question and judge what is called. Raises `TurnRefused` for a model without tools.

    Skipped where none of the right tools is among `tools`.
    """
    offered = {tool.name for tool in tools}
    if case.right and not any(right.tool in offered for right in case.right):
        return _choice(case, "skipped", why="no tool for this is offered")
    known = case_set()
    plan = admit(deps, TurnRequest(case.message, known.timezone, known.now_ms, model=model, mode="agent"))
    try:
        wanted = _asked(deps, plan, tools, case)
    except ModelError as error:
        return _choice(case, "failed", why=error.detail or error.code)
    return judge(case, wanted, tools)


def judge(case: Case, wanted: Sequence[Call], tools: Sequence[Tool]) -> Choice:
    """How calls compare with the right ones."""
    called = tuple((each.name, each.arguments) for each in wanted)
    if not case.right:
        why = f"calls {_names(wanted)} where nothing is to be called" if wanted else ""
        return _choice(case, "wrong" if why else "right", called, Share(int(not why), 1), NOTHING, why)
    allowed = {right.tool for right in case.right} | CLOCKS
    chosen = [each for each in wanted if any(each.name == right.tool for right in case.right)]
    stray = [each for each in wanted if each.name not in allowed]
    if stray or not chosen:
        why = f"calls {_names(stray or wanted)}" if wanted else "calls nothing"
        told = " or ".join(dict.fromkeys(right.tool for right in case.right))
        return _choice(case, "wrong", called, Share(0, 1), NOTHING, f"{why} instead of {told}")
    by_name = {tool.name: tool for tool in tools}
    problems = [_problem(each, case.right, by_name.get(each.name)) for each in chosen]
    why = "" if "" in problems else problems[0]
    outcome: Outcome = "wrong" if why else "right"
    return _choice(case, outcome, called, Share(1, 1), Share(int(not why), 1), why)


def total(choices: Iterable[Choice]) -> Score:
    """The figures of a run; what was skipped is in none of them."""
    score = Score()
    for each in choices:
        if each.outcome != "skipped":
            score = Score(
                score.right + Share(int(each.outcome == "right"), 1),
                score.tool + (each.tool if each.tool.of else Share(0, 1)),
                score.arguments + each.arguments,
            )
    return score


# -- asking ---------------------------------------------------------------------------------


def _asked(deps: TurnServices, plan: TurnPlan, tools: Sequence[Tool], case: Case) -> list[Call]:
    """What the model wants called, behind a look at the clock where it takes one. Raises `ModelError`."""
    assert deps.agent is not None  # admitted
    endpoint = deps.models.endpoint(plan.model.name)
    form = endpoint.tool_format
    blocks = model_session.blocks(plan, tools, deps.agent.settings, form)
    merged = endpoint.single_system
    as_text = not endpoint.supports_tool_role
    messages = [*system_messages(blocks, merged=merged), Message("user", plan.message)]
    is_clock_right = any(right.tool in CLOCKS for right in case.right)
    for _ in range(_MAX_STEPS):
        completion = _completed(deps, plan, [] if form else tools, messages)
        said = tool_execution.read(completion, tools, form)
        looks_at_clock = said.wanted and all(each.name in CLOCKS and not each.error for each in said.wanted)
        if not looks_at_clock or is_clock_right:
            break
        now = datetime.fromtimestamp(plan.now_ms / 1000, plan.zone).isoformat()
        told = result_text(json.dumps({"iso": now}))
        results = {each.id: told for each in said.wanted}
        messages += tool_execution.result_messages(
            said, results, form, written=completion.text, as_text=as_text
        )
    return list(said.wanted)


def _completed(
    deps: TurnServices, plan: TurnPlan, tools: Sequence[Tool], messages: Sequence[Message]
) -> Completion:
    model = plan.model
    assert isinstance(model, ChatModel)  # admitted as one that can use tools
    endpoint = deps.models.endpoint(model.name)
    ledger = SentLedger(deps.database, deps.clock, endpoint, "test")
    with ledger.asking():
        told = definitions(tools)
        pieces = model.stream(messages, tools=told, timeout_s=deps.models.timeout_s, on_send=ledger)
        completion = next(piece for piece in pieces if isinstance(piece, Completion))
        ledger.answered(completion, messages)
    return completion


# -- judging --------------------------------------------------------------------------------


def _problem(wanted: Call, right: Sequence[Right], tool: Tool | None) -> str:
    """Why a call of a right tool is not right itself; "" when it is."""
    if wanted.error:
        return wanted.error
    try:
        if tool:
            tool.values(wanted.arguments)
    except ToolFailed as error:
        return str(error)
    found = []
    for each in right:
        if each.tool == wanted.name:
            given = wanted.arguments
            wrong = [name for name, rule in each.arguments.items() if not _fits(given.get(name), rule)]
            if not wrong:
                return ""
            found.append(", ".join(wrong))
    return f"{wanted.name} with another {' or '.join(dict.fromkeys(found))}"


def _fits(value: Any, rule: Mapping[str, Any]) -> bool:
    """Whether an argument is what a rule wants; one that is missing is blank."""
    text = "" if value is None else str(value).strip()
    if "is" in rule:
        return text.casefold() == str(rule["is"]).casefold()
    if "any" in rule:
        return any(word.casefold() in text.casefold() for word in rule["any"])
    if "blank" in rule:
        return not text
    if "value" in rule:
        return _is_value(text, rule["value"])
    return _is_near(value, rule)


def _is_value(expression: str, value: float) -> bool:
    try:
        return math.isclose(calculate(expression), value, rel_tol=1e-6)
    except (ToolFailed, OverflowError):
        return False


def _is_near(value: Any, rule: Mapping[str, Any]) -> bool:
    try:
        given_ms = calls.parse(value, "time")
    except (ReadRefused, TypeError):
        return False
    return bool(abs(given_ms - _ms(rule["at"])) <= rule["within_s"] * 1000)


def _ms(iso: str) -> int:
    return round(datetime.fromisoformat(iso).timestamp() * 1000)


def _names(wanted: Sequence[Call]) -> str:
    return ", ".join(dict.fromkeys(each.name for each in wanted))


def _choice(
    case: Case,
    outcome: Outcome,
    called: tuple[tuple[str, Mapping[str, Any]], ...] = (),
    tool: Share = NOTHING,
    arguments: Share = NOTHING,
    why: str = "",
) -> Choice:
    return Choice(case.id, case.language, case.message, outcome, called, tool, arguments, why)


# ---- tool checking
# `check-tools`: does a model call the right tool? Known questions, put before it as a turn would.


_MARKS = {"right": "OK", "wrong": "X", "skipped": "-", "failed": "!"}


@click.command("check-tools")
@home_and_json
@click.option("--model", help="Name of a configured model (default: the default model).")
@click.option("--language", type=click.Choice(["en", "zh"]), help="Only the questions of one language.")
@click.option("--limit", type=click.IntRange(1), help="Only the first so many questions.")
def check_tools(
    home: Path | None, as_json: bool, model: str | None, language: str | None, limit: int | None
) -> int:
    """Score a model by the tools it calls, and with which arguments.

    Questions in English and Chinese are put before it as a chat with tools would. No tool is run and
    nothing of the screen is sent. Each result is printed as it comes.
    """

    choices = []
    for choice in _choices(home, model, language, limit):
        choices.append(choice)
        _print(choice, to_stderr=as_json)
        if all(each.outcome == "failed" for each in choices):
            raise click.ClickException(f"the model gave no answer: {choice.why}")
    if as_json:
        by_language = {name: [each for each in choices if each.language == name] for name in ("en", "zh")}
        print_json(
            {
                "model": model,
                "figures": _figures(total(choices)),
                "languages": {name: _figures(total(each)) for name, each in by_language.items()},
                "choices": [dataclasses.asdict(each) for each in choices],
            }
        )
    else:
        for name, share in _shares(total(choices)):
            told = "nothing to count" if share.value is None else f"{share.value:6.1%}"
            click.echo(f"{name:<11}{told}  {share.count} of {share.of}")
    return 0


def _choices(
    home: Path | None, model: str | None, language: str | None, limit: int | None
) -> Iterator[Choice]:
    """One question after the other. Raises `ClickException` for a model that cannot be asked."""
    from assistant.core.errors import TurnRefused

    deps = _deps(home)
    try:
        chosen = deps.models.get(model)
        endpoint = deps.models.endpoint(chosen.name)
        if not endpoint.supports_tools:
            raise click.ClickException(f"{chosen.name} cannot use tools; choose another with --model")
        tools = [
            tool
            for tool in deps.agent.tools.values()
            if tool.name != "describe_frame" or endpoint.supports_vision
        ]
        cases = [case for case in case_set().cases if language in (None, case.language)]
        for case in cases[:limit]:
            yield check(deps, tools, case, chosen.name)
    except TurnRefused as error:
        raise click.ClickException(str(error)) from error


def _deps(home: Path | None) -> Any:
    """What a turn works with, every tool there is among it: none is run, so none needs to be set up."""
    from assistant.core.models import ChatModels
    from assistant.core.query_embedder import QueryEmbedder
    from assistant.read_api.calls import ReadSources
    from assistant.tools.registry import AgentServices, registry
    from assistant.turns.plan import TurnServices
    from store.core.times import now_ms
    from store.frames.media import Media

    here = open_home(home)
    database = here.open_database()
    settings = here.settings
    library = ReadSources(
        database, Media(here.data_dir.media), settings, QueryEmbedder(settings.embedding, database), now_ms
    )
    whole = dataclasses.replace(
        settings.tools,
        read_file_roots=("/notes",),
        web_search=True,
        web_search_url="http://127.0.0.1:8888/search",
    )
    agent = AgentServices(library, settings.tools, registry(whole))
    return TurnServices(database, ChatModels(settings.chat, data_dir=here.data_dir), now_ms, agent=agent)


def _print(choice: Choice, to_stderr: bool) -> None:
    why = f"  ({choice.why})" if choice.why else ""
    click.echo(f"{_MARKS[choice.outcome]:<3}{choice.id}  {choice.message}{why}", err=to_stderr)


def _shares(score: Score) -> Iterator[tuple[str, Share]]:
    for each in dataclasses.fields(score):
        yield each.name, getattr(score, each.name)


def _figures(score: Score) -> dict[str, Any]:
    return {
        name: {"count": share.count, "of": share.of, "share": share.value} for name, share in _shares(score)
    }
