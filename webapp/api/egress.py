"""The ledger of what was sent: when, where to, how much, and the very text."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from store.egress import egress_log
from store.egress.egress_log import Purpose
from webapp.api.endpoint import TURN, cut_page, endpoint
from webapp.api.values import Answer, Listing, QueryId, QueryInt, Request, Timestamp
from webapp.core.lookups import turn_or_404
from webapp.core.services import services


class SentQuery(Request):
    limit: Annotated[QueryInt, Field(ge=1, le=200)] = 50
    cursor: QueryId | None = Field(None, description="`next_cursor` of the page before.")
    purpose: Purpose | None = Field(None, description="Requests of this purpose only.")


class SentAnswer(Answer):
    """One request. `text` is the very body that was sent; null once it was erased.

    It is null from the first for `embed`, whose texts are those of the screens of `first` to `last`.
    """

    id: int
    purpose: Purpose = Field(
        description="answer, test of a provider, refine (observations in better words), embed (vectors "
        "of screens and memory), search (the vector of a question), describe (one picture of a frame), "
        "web_search (the words of a search)."
    )
    at: Timestamp
    provider: str
    model: str
    url: str
    local: bool
    bytes: int = Field(validation_alias="size_bytes")
    text: str | None = Field(validation_alias="body")
    texts: int = Field(description="How many texts vectors were asked for.")
    pictures: int = Field(description="In `text` each is named by its frame, size and SHA-256.")
    first: Timestamp | None = Field(description="When the first screen was taken that it shows.")
    last: Timestamp | None
    outcome: str = Field(description="sent, answered, asked_again, or the code of an error.")
    input_tokens: int | None
    output_tokens: int | None
    is_estimated: bool
    cost: float | None
    currency: str
    chat_id: int | None
    turn_id: int | None = Field(validation_alias="turn")


class SentPage(Listing[SentAnswer]):
    next_cursor: int | None


@endpoint("GET", "/sent", "What was sent")
def all_sent(query: SentQuery) -> SentPage:
    """Every request, newest first, to this machine and to others."""
    requests = egress_log.latest(services().database, query.limit + 1, query.cursor, query.purpose)
    shown, next_cursor = cut_page(requests, query.limit, lambda sent: sent.id)
    return SentPage(data=SentAnswer.list_of(shown), next_cursor=next_cursor)


@endpoint("GET", f"{TURN}/sent", "What was sent for an answer")
def sent_for(chat_id: int, turn_id: int) -> SentPage:
    """In order; empty where nothing was sent, as by the built-in models."""
    turn_or_404(chat_id, turn_id)
    requests = egress_log.of_turn(services().database, chat_id, turn_id)
    return SentPage(data=SentAnswer.list_of(requests), next_cursor=None)
