"""The convention of tool descriptions, over every tool there is."""

from __future__ import annotations

import re
from pathlib import Path

from assistant.tools.registry import registry
from assistant.tools.tool import Tool, tool
from store.core.settings import ToolsSettings
from tests.assistant.examples import EXAMPLES, examples_of
from tests.tables import for_each

EVERY_TOOL = registry(ToolsSettings(read_file_roots=(str(Path("/")),)))
NAMES = {each.name for each in EVERY_TOOL.values()} | {"describe_frame", "web_search"}

# Words in capitals that are no header: what queries are written in, and abbreviations.
_HEADER = re.compile(
    r"(?:^|[.:;!?]\s+|\n)\s*[A-Z][A-Z ]{2,}:|\b(?:USAGE|PARAMETERS|EXAMPLES?|NOTES?|RETURNS|IMPORTANT)\b"
)
_IDENTITY = re.compile(r"\byou are an?\b", re.IGNORECASE)
_BY_DESCRIPTION = re.compile(r"\btools?\b", re.IGNORECASE)
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"")
_IDENTIFIER = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


def problems(each: Tool) -> list[str]:
    """What the convention has against a tool's description."""
    found = []
    text = each.description
    prose = text.split("Example", 1)[0]
    first = re.split(r"(?<=[.!?])\s", prose, maxsplit=1)[0]
    if not re.search(r"; call it \w+", first) or not first.endswith(".") or not first[0].isupper():
        found.append("the first sentence says what it does; and when to call it")
    if _HEADER.search(text):
        found.append("a header in capitals")
    if _IDENTITY.search(text):
        found.append("it says who the model is")
    if _BY_DESCRIPTION.search(prose):
        found.append("it refers to a tool without its name")
    properties = each.parameters["properties"]
    for name in _IDENTIFIER.findall(_QUOTED.sub("", prose)):
        if name not in NAMES:
            found.append(f"{name} is no tool; parameters and fields stand in backticks")
        if name == each.name:
            found.append("it refers to itself")
    for name, schema in properties.items():
        is_told = f"`{name}`" in prose or schema.get("description") or schema.get("enum")
        if not is_told and set(schema) <= {"type", "default"}:
            found.append(f"nothing says what {name} is")
    for name in re.findall(r"`([a-z_]+)`", prose):
        if name.endswith(("_id", "_ts")) and name not in properties and name not in EVERY_FIELD:
            found.append(f"`{name}` is neither a parameter nor a field")
    return found


EVERY_FIELD = {name for each in EVERY_TOOL.values() for name in each.parameters["properties"]} | {
    "entity_id",
    "cite",
}


@for_each("each", EVERY_TOOL.values(), ids=lambda each: each.name)
def test_every_description_keeps_the_convention(each: Tool) -> None:
    assert problems(each) == []


@for_each(
    ("text", "problem"),
    [
        ("Searches things.", "when to call"),
        ("Searches things; call it always. PARAMETERS: none.", "header"),
        ("Searches things; call it always. USE WITH CARE: it is slow.", "header"),
        ("You are a searcher; call it always.", "who the model is"),
        ("Searches things; call it always. The other search tool is slower.", "without its name"),
        ("Searches things; call it always. For words use search_everything.", "is no tool"),
    ],
)
def test_the_lint_finds_what_is_banned(text: str, problem: str) -> None:
    def made(context: object) -> object:
        raise AssertionError

    made.__doc__ = text
    assert any(problem in found for found in problems(tool(reaches="nothing")(made)))


def test_examples_stand_exactly_where_they_are_wanted() -> None:
    having = {each.name for each in EVERY_TOOL.values() if examples_of(each)}
    assert having == {"search_messages", "search_rag", "store_fact", "get_sms_messages"}
    assert not having & {"get_current_datetime", "reverse_geocode", "get_frame_tags"}
    for each in EVERY_TOOL.values():
        assert ("xample" in each.description) == (each.name in having)


@for_each(("name", "example"), EXAMPLES, ids=str)
def test_examples_fit_the_schema(name: str, example: dict[str, object]) -> None:
    each = EVERY_TOOL.get(name)
    assert each is not None
    assert set(example) <= set(each.values(example))  # they fit


def test_store_fact_shows_the_choice() -> None:
    shown = [
        set(example) & {"object_entity_id", "object_value"}
        for name, example in EXAMPLES
        if name == "store_fact"
    ]
    assert shown == [{"object_entity_id"}, {"object_value"}]


def test_search_messages_has_its_modes_and_filters() -> None:
    each = EVERY_TOOL.get("search_messages")
    assert each is not None
    properties = each.parameters["properties"]
    assert properties["mode"]["enum"] == ["fts5", "semantic", "hybrid"]
    assert properties["mode"]["default"] == "hybrid"
    assert {"start_ts", "end_ts", "contact_id"} <= properties.keys()
    for word in (
        "NEAR",
        "AND, OR",
        "NOT",
        "prefix*",
        "reciprocal rank",
        "needs embeddings",
        "real-UTC Unix seconds",
    ):
        assert word in each.description


def test_search_messages_points_to_browsing() -> None:
    each = EVERY_TOOL.get("search_messages")
    assert each is not None
    wanted = "For pure date or contact browsing without keywords, prefer get_sms_messages."
    assert wanted in each.description
