"""Searching the web: off unless a person set up an endpoint, and asking each time.

What leaves is the query and nothing else, noted before it leaves. What comes back was written by strangers,
so it is fenced as data; nothing in it is fetched, and none of it is evidence.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from assistant.core.strings import PROMPTS
from assistant.tools.context import ToolContext
from assistant.tools.tool import ToolFailed, printable_line, tool
from engines.web_search import SearchFailed, WebSearch
from store.chats import conversations
from store.core.errors import SettingsError, StoreError
from store.core.settings import ToolsSettings
from store.core.translation import N_, Deferred
from store.core.translation import deferred as _
from store.egress.egress_log import EgressRecorder, RequestContext

MAX_QUERY_CHARS = 300

FENCE: str = PROMPTS["web_results"]


Query = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_QUERY_CHARS,
        description="A few words, sent as they stand to a search engine; nothing private.",
    ),
]
Limit = Annotated[int, Field(ge=1, le=10, description="Results at most.")]


def search_engine(settings: ToolsSettings) -> WebSearch | None:
    """The endpoint of web searches, None where there is none. Raises `SettingsError`."""
    if not (settings.web_search and settings.web_search_url):
        return None
    try:
        return WebSearch(settings.web_search_url)
    except ValueError as error:
        raise SettingsError(f"tools.web_search_url: {error}") from error


def _set_up(context: ToolContext) -> WebSearch:
    engine = search_engine(context.settings)
    if engine is None:
        raise ToolFailed("No search endpoint is set up: tools.web_search and tools.web_search_url.")
    return engine


def _search_notice(context: ToolContext, query: str, limit: int) -> Deferred:
    engine = _set_up(context)
    places = {"words": printable_line(query), "host": engine.host}
    if engine.is_local or engine.is_encrypted:
        return _("Sends the search “%(words)s” to %(host)s.", **places)
    return _("Sends the search “%(words)s” to %(host)s, not encrypted on its way.", **places)


@tool(
    reaches=N_("the search endpoint that you set up, which gets the words of the search"),
    risk="sends",
    tells=_search_notice,
    covers=lambda context: N_("searches sent to %(host)s") % {"host": _set_up(context).host},
)
def web_search(context: ToolContext, query: Query, limit: Limit = 5) -> object:
    """Searches the web and gives titles, addresses and short texts; call it only for public facts that
    neither the screen nor memory can hold. `query` is sent to a search engine, so put no names, texts or
    figures of the person into it that they did not ask to look up. Its results cannot be cited."""
    if not query.split():
        raise ToolFailed("The query is blank.")
    request = RequestContext("web_search", "web_search", turn_id=context.turn_id)
    recorder = EgressRecorder(
        context.library.database,
        context.library.clock,
        request,
        lambda connection: context.turn_id is None or conversations.is_current(connection, context.turn_id),
    )
    try:
        hits = _set_up(context).search(query, limit, timeout_s=context.settings.timeout_s, on_send=recorder)
    except SearchFailed as error:
        recorder.finish(error.code)
        raise ToolFailed(str(error)) from error
    except StoreError as error:
        raise ToolFailed("The search could not be put on record, so nothing was sent.") from error
    recorder.finish("answered")
    return {"note": FENCE, "query": query, "results": [asdict(hit) for hit in hits]}
