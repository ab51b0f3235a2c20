"""The questions about tools are sound, and the judge tells a model that chooses well from others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from assistant.formats.parsing import Call
from assistant.tools.registry import ToolGateOpts, offered, registry
from assistant.tools.tool import Tool
from assistant.turns.plan import TurnServices
from assistant.turns.tool_execution import ALIASES
from bench.evals.tool_choice import CLOCKS, Case, Right, case_set, check, judge, total
from store.chats import conversations
from store.core.database import Database
from store.core.settings import ToolsSettings
from store.egress import egress_log
from tests.assistant.agents import agent_deps, run
from tests.stub_model import StubModel
from tests.tables import for_each
from tests.voices import FORMS, written

TOOLS: list[Tool] = registry(
    ToolsSettings(read_file_roots=("/notes",), web_search=True, web_search_url="http://127.0.0.1:8888/search")
).values()
BY_NAME = {tool.name: tool for tool in TOOLS}
CASES = case_set().cases
CLOCK = next(iter(CLOCKS & set(BY_NAME)))


@pytest.fixture
def deps(database: Database, stub: StubModel) -> Iterator[TurnServices]:
    with agent_deps(database, stub) as made:
        yield made


def given(rule: Mapping[str, Any]) -> Any:
    """An argument as a rule wants it."""
    if "any" in rule:
        return rule["any"][0]
    return "" if "blank" in rule else rule.get("is", rule.get("at", str(rule.get("value"))))


def good(case: Case) -> list[tuple[str, Mapping[str, Any]]]:
    """The first right call that can be made."""
    for right in case.right:
        if right.tool in BY_NAME:
            return [(right.tool, {name: given(rule) for name, rule in right.arguments.items()})]
    return []


def asked_in(request: Mapping[str, Any]) -> Case:
    message = next(each["content"] for each in request["messages"] if each["role"] == "user")
    return next(case for case in CASES if case.message == message)


def choices_of(deps: TurnServices) -> list[Any]:
    return [check(deps, TOOLS, case) for case in CASES]


def test_there_are_enough_questions_in_both_languages() -> None:
    assert len(CASES) >= 40
    assert len({case.id for case in CASES}) == len({case.message for case in CASES}) == len(CASES)
    for language in ("en", "zh"):
        assert sum(case.language == language for case in CASES) >= 20
    named = {right.tool for case in CASES for right in case.right}
    assert named <= {*BY_NAME, *ALIASES}, "a tool that is not there would be asked for by nobody"
    assert set(BY_NAME) - {"describe_frame", "read_attachment"} <= named, "every tool is asked for"
    assert sum(not case.right for case in CASES) >= 5


@for_each("case", CASES, ids=lambda case: case.id)
def test_what_is_called_right_is_possible(case: Case) -> None:
    """A call made as each rule wants it fits the tool's own schema, and passes."""
    for right in case.right:
        if right.tool in BY_NAME:
            assert set(right.arguments) <= set(BY_NAME[right.tool].parameters["properties"])
            call = Call("1", right.tool, {name: given(rule) for name, rule in right.arguments.items()})
            assert judge(case, [call], TOOLS).outcome == "right"


def test_a_model_that_chooses_well_scores_high_and_one_that_does_not_low(
    deps: TurnServices, stub: StubModel, database: Database
) -> None:
    stub.choose(lambda request: good(asked_in(request)))
    best = total(choices_of(deps))
    assert best.right.count == best.right.of == len(CASES)
    assert best.arguments.count == best.arguments.of
    stub.anew().choose(lambda request: [("calculator", {"expression": "1+1"})])
    worst = total(choices_of(deps))
    assert worst.right.of == best.right.of
    assert worst.right.count == 0
    sums = [case for case in CASES if any(right.tool == "calculator" for right in case.right)]
    assert worst.tool.count == len(sums), "the right tool with the wrong sum"
    assert (worst.arguments.count, worst.arguments.of) == (0, len(sums))
    stub.anew().reply("I know it all.")
    silent = total(choices_of(deps))
    assert silent.right.count == sum(not case.right for case in CASES)
    assert conversations.list_chats(database) == []
    assert {each.purpose for each in egress_log.latest(database, 500)} == {"test"}


@pytest.mark.parametrize("form", FORMS)
def test_every_format_is_read(form: str, database: Database, stub: StubModel) -> None:
    case = next(each for each in CASES if each.id == "sum")
    if form:
        stub.reply(written(form, (("calculator", {"expression": "2340*0.175"}),)))
    else:
        stub.call(("calculator", {"expression": "2340*0.175"}))
    with agent_deps(database, stub, form) as deps:
        assert check(deps, TOOLS, case).outcome == "right"


def test_a_look_at_the_clock_first_costs_nothing(deps: TurnServices, stub: StubModel) -> None:
    case = next(each for each in CASES if each.id == "since")
    stub.call((CLOCK, {})).choose(lambda request: good(case))
    assert check(deps, TOOLS, case).outcome == "right"
    assert [message["role"] for message in stub.requests[1]["messages"]] == [
        "system", "user", "assistant", "tool",
    ]  # fmt: skip
    assert "2026-11-20T18:03:00+08:00" in stub.requests[1]["messages"][3]["content"]
    stub.anew().call((CLOCK, {}))
    assert check(deps, TOOLS, case).why == f"calls {CLOCK} instead of search_ocr"


AT_TWO = {"at": "2026-11-20T14:00:00+08:00", "within_s": 60}
SEARCH = Case("one", "en", "?", (Right("search_ocr", {"query": {"any": ["invoice"]}, "start": AT_TWO}),))


@for_each(
    ("called", "outcome", "why"),
    [
        (("search_ocr", {"query": "Invoice no", "start": 1795154400}), "right", ""),
        (("search_ocr", {"query": "invoice", "start": "2026-11-20T06:00:30Z"}), "right", ""),
        (("search_ocr", {"query": "invoice", "start": "2026-11-20T14:00:00Z"}), "wrong", "another start"),
        (("search_ocr", {"query": "invoice", "start": "at two"}), "wrong", "another start"),
        (("search_ocr", {"query": "bill"}), "wrong", "another query, start"),
        (("search_ocr", {"query": "invoice", "begin": 1}), "wrong", "begin"),
        (("search_sessions", {"query": "invoice"}), "wrong", "instead of search_ocr"),
    ],
)
def test_a_call_is_judged_by_its_arguments(called: tuple[str, Any], outcome: str, why: str) -> None:
    found = judge(SEARCH, [Call("1", *called)], TOOLS)
    assert (found.outcome, why in found.why) == (outcome, True)


def test_one_stray_call_spoils_the_choice() -> None:
    right = Call("1", *good(SEARCH)[0])
    assert judge(SEARCH, [right, Call("2", CLOCK, {})], TOOLS).outcome == "right"
    assert judge(SEARCH, [right, Call("2", "read_file", {"path": "x"})], TOOLS).outcome == "wrong"
    nothing = Case("none", "en", "?", ())
    assert judge(nothing, [right], TOOLS).outcome == "wrong"
    assert judge(nothing, [], TOOLS).outcome == "right"


def test_a_model_that_fails_is_not_right_and_says_why(deps: TurnServices, stub: StubModel) -> None:
    stub.fail(401, "no")
    found = check(deps, TOOLS, CASES[0])
    assert (found.outcome, found.why) == ("failed", "HTTP 401: no")
    assert total([found]).right.of == 1


@pytest.mark.parametrize("form", ["", "llama31"])
def test_a_model_is_asked_as_a_turn_would_ask_it(database: Database, stub: StubModel, form: str) -> None:
    """Word for word, with what its entry and the settings say: else the score is of another program."""
    flags = {"single_system": True, "supports_tool_role": False}
    stub.reply("Nothing.")
    with agent_deps(database, stub, form, flags=flags, owner="Ada", examples="EXAMPLE") as deps:
        assert deps.agent
        tools = offered(database, deps.agent.tools, ToolGateOpts(database, has_vision=False))
        case = next(each for each in CASES if not each.right)
        check(deps, tools, case)
        run(deps, message=case.message)
    scored, asked = (request["messages"] for request in stub.requests[:2])
    assert [each["role"] for each in scored] == [each["role"] for each in asked]
    assert "EXAMPLE" in scored[0]["content"] and "screen of Ada" in scored[0]["content"]
    assert scored[0]["content"].split("\n\nNow: ")[0] == asked[0]["content"].split("\n\nNow: ")[0]
    assert stub.requests[0].get("tools") == stub.requests[1].get("tools")
