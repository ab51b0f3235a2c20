"""The versions of an insight: listed, compared, put back, and each with what made it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from flask import Response
from pydantic import Field

from store.memory import insights
from webapp.api.endpoint import endpoint
from webapp.api.insights import NOT_FOUND, InsightAnswer, InsightSummary, insight_answer, summary_of
from webapp.api.values import MAX_ID, Answer, QueryInt, Request
from webapp.core.difference import difference
from webapp.core.services import services
from webapp.exports import insight_files


@endpoint(
    "POST",
    "/insights/<id:insight_id>/restore",
    "Make a version the current one",
    answer=InsightAnswer,
    problems=NOT_FOUND,
)
def restore(insight_id: int) -> InsightAnswer:
    """The others stay as they are."""
    database = services().database
    insights.restore(database, insight_id)
    return insight_answer(insights.get(database, insight_id))


class VersionsOfInsight(Answer):
    data: list[InsightSummary]


@endpoint(
    "GET",
    "/insights/<id:insight_id>/versions",
    "All versions of an insight",
    answer=VersionsOfInsight,
    problems=NOT_FOUND,
)
def versions(insight_id: int) -> VersionsOfInsight:
    """Of the same frame or moment, the newest first."""
    database = services().database
    found = insights.versions(database, insights.get(database, insight_id).anchor)
    return VersionsOfInsight(data=[summary_of(each) for each in found])


class DifferenceLine(Answer):
    kind: str = Field(description="same, added or removed.")
    text: str


class DifferenceAnswer(Answer):
    data: list[DifferenceLine]


class CompareQuery(Request):
    to: Annotated[QueryInt, Field(ge=1, le=MAX_ID)] = Field(
        description="The insight that it is compared with, usually another version."
    )


@endpoint(
    "GET",
    "/insights/<id:insight_id>/compare",
    "How one insight differs from another",
    query=CompareQuery,
    answer=DifferenceAnswer,
    problems=NOT_FOUND,
)
def compare(insight_id: int, query: CompareQuery) -> DifferenceAnswer:
    """Lines of the first that are not in the second are removed, the other way round added."""
    database = services().database
    first, second = insights.get(database, insight_id), insights.get(database, query.to)
    lines = difference(first.summary, second.summary)
    return DifferenceAnswer(data=[DifferenceLine(kind=line.kind, text=line.text) for line in lines])


class TrainingMessages(Answer):
    data: list[dict[str, Any]]


@endpoint(
    "GET",
    "/insights/<id:insight_id>/messages",
    "The messages that made an insight",
    answer=TrainingMessages,
    problems=NOT_FOUND,
)
def messages(insight_id: int) -> TrainingMessages:
    """Exactly as they are kept, the system's first: what was said before, calls and results among them."""
    return TrainingMessages(data=insights.messages(services().database, insight_id))


class ExportQuery(Request):
    fmt: Literal["md", "json"] = "md"


@endpoint(
    "GET",
    "/insights/<id:insight_id>/export",
    "An insight as a file",
    query=ExportQuery,
    answer=("text/markdown", "application/json"),
    problems=NOT_FOUND,
)
def export(insight_id: int, query: ExportQuery) -> Response:
    """With its evidence; as JSON with the messages that made it, too."""
    return insight_files.insight_file(insights.get(services().database, insight_id), query.fmt)
