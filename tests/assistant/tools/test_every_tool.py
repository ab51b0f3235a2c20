"""Every tool with good, bad and empty input. A new tool fails here until it has a good example."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from assistant.core.models import ChatModels
from assistant.tools.registry import registry
from assistant.tools.tool import Tool
from store.core.database import Database
from store.core.settings import ChatModelSettings, ChatSettings, ToolsSettings
from tests.assistant.helpers import NOW_MS, START_MS, Afternoon
from tests.assistant.looking import Result, Turn
from tests.attaching import attached_chat
from tests.stub_model import StubModel
from tests.stub_search import StubSearch
from tests.tables import for_each

START, END = START_MS / 1000, NOW_MS / 1000
GOOD: dict[str, dict[str, Any]] = {
    "activity_summary": {"start": START},
    "calculator": {"expression": "2*(3+4)"},
    "describe_frame": {"frame_id": 0, "question": "Which chart?"},
    "get_calendar_events": {"start": START, "end": END},
    "find_by_concept": {"concept": "policy"},
    "find_by_file": {"file": "policy.md"},
    "find_by_type": {"kind": "coding"},
    "get_context_timeline": {"anchor": "2026-11-20T14:05:00+08:00"},
    "get_current_datetime": {},
    "get_frame": {"frame_id": 0},
    "get_frame_tags": {"frame_id": 0},
    "get_location_history": {"start": START, "end": END},
    "get_place_at": {"latitude": 31.2, "longitude": 121.4},
    "get_recent_context": {},
    "get_sms_messages": {"date": START},
    "list_directory": {"path": "."},
    "read_attachment": {"attachment_id": 1},
    "read_file": {"path": "plan.txt"},
    "recall_entities": {"name": "Anna"},
    "recall_facts_for_frame": {"frame_id": 0},
    "reverse_geocode": {"latitude": 31.2, "longitude": 121.4},
    "search_chats": {"query": "policy"},
    "search_messages": {"query": "dinner"},
    "search_observations": {"query": "policy"},
    "search_ocr": {"query": "policy"},
    "search_rag": {"query": "policy"},
    "search_sessions": {"query": "policy"},
    "search_user_prompts": {"query": "policy"},
    "store_entity": {"kind": "person", "name": "Anna"},
    "store_fact": {"subject_id": 1, "predicate": "lives in", "object_value": "Delft"},
    "web_search": {"query": "retention law"},
}
"""A frame's id is filled in. The person of the fact is stored by the call before."""

SETTINGS = ToolsSettings(
    read_file_roots=("/notes",), web_search=True, web_search_url="http://searx.example/search"
)
ALL = registry(SETTINGS)
WRONG: Mapping[str, Any] = {"string": ["x"], "integer": "many", "number": "many", "boolean": "perhaps",
                            "array": {}, "object": []}  # fmt: skip


@pytest.fixture
def turn(
    database: Database, afternoon: Afternoon, stub: StubModel, tmp_path: Path
) -> Iterator[tuple[Turn, int]]:
    """What a call is handed, with everything there is to reach; the tools; and a frame."""
    frame = afternoon.show(5, "the retention policy", app_name="Editor", window_name="policy.md")
    stub.reply("A page of text.")
    entry = ChatModelSettings("stub", stub.base_url, "stub", supports_tools=True, supports_vision=True)
    models = ChatModels(ChatSettings(models=(entry,), timeout_s=60), {}, waits_s=())
    endpoint, model = models.endpoint("stub"), models.get("stub")
    assert endpoint
    root = tmp_path / "notes"
    root.mkdir()
    (root / "plan.txt").write_text("the plan", encoding="utf-8")
    with StubSearch() as search:
        search.finds({"title": "Law", "url": "https://example.org/", "content": "Ninety days."})
        made = Turn(database)
        made.settings = ToolsSettings(
            read_file_roots=(str(root),),
            read_file_max_bytes=1_000,
            web_search=True,
            web_search_url=search.url,
        )
        made.tools = registry(made.settings)
        made.eyes, made.endpoint = model, endpoint
        made.chat_id = attached_chat(database, "notes.txt", "the notes")[0]
        yield made, frame.id
    models.close()


def tried(turn: tuple[Turn, int], name: str, arguments: Mapping[str, Any]) -> Result:
    """What came of a call; never a bug."""
    result = turn[0].run(name, **arguments)
    assert "the log of the web process says why" not in result.error
    assert bool(result.output) == result.success == (not result.error)
    return result


def test_every_tool_has_a_good_example() -> None:
    assert set(GOOD) == set(ALL)


@for_each("name", GOOD)
def test_good_input_is_answered(turn: tuple[Turn, int], name: str) -> None:
    arguments = {key: turn[1] if key == "frame_id" else value for key, value in GOOD[name].items()}
    if name == "store_fact":
        assert tried(turn, "store_entity", GOOD["store_entity"]).success
    result = tried(turn, name, arguments)
    assert result.success, result.error
    assert isinstance(json.loads(result.output), dict)


@for_each("tool", ALL.values(), ids=lambda tool: tool.name)
def test_bad_input_is_refused(turn: tuple[Turn, int], tool: Tool) -> None:
    """Each argument of another type, one too many, and none of those that are needed."""
    good = {key: turn[1] if key == "frame_id" else value for key, value in GOOD[tool.name].items()}
    for key, schema in tool.parameters["properties"].items():
        kinds = {each.get("type") for each in schema.get("anyOf", [schema])}
        wrong = {"x": 1} if "array" in kinds else next(WRONG[kind] for kind in WRONG if kind in kinds)
        result = tried(turn, tool.name, {**good, key: wrong})
        assert not result.success and key in result.error
    assert "no_such" in tried(turn, tool.name, {**good, "no_such": 1}).error
    if tool.parameters.get("required"):
        assert not tried(turn, tool.name, {}).success


@for_each("tool", ALL.values(), ids=lambda tool: tool.name)
def test_empty_and_hostile_texts_are_no_accident(turn: tuple[Turn, int], tool: Tool) -> None:
    """Blank, odd and hostile texts give an answer or a sentence."""
    good = {key: turn[1] if key == "frame_id" else value for key, value in GOOD[tool.name].items()}
    texts = [key for key, schema in tool.parameters["properties"].items() if schema.get("type") == "string"]
    for text in ("", "  ", "\0", "\ud800", "'; drop table frames; --", "$(id) `id` | id; id", "%s{0}{{x}}"):
        result = tried(turn, tool.name, {**good, **dict.fromkeys(texts, text)})
        assert "uid=" not in result.output
