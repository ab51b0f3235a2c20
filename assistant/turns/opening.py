"""Everything that a turn works with, opened for a program that asks without the web app."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assistant.core.models import ChatModels
from assistant.core.query_embedder import Meaning
from assistant.read_api.calls import ReadCall, ReadSources
from assistant.tools.registry import AgentServices, registry
from assistant.tools.tool import Registry
from assistant.turns.plan import TurnServices
from store.embeddings import knn


@contextmanager
def opened(library: ReadSources, call: ReadCall | None = None) -> Iterator[TurnServices]:
    """Services of a turn. For another program's `call` nothing is shown that today's rules keep back, and
    there are tools only that look things up.
    """
    database, settings = library.database, library.settings
    tools = registry(settings.tools)
    if call is not None:
        tools = Registry(tool for tool in tools.list() if tool.risk == "looks")
    models = ChatModels(settings.chat, database=database)

    def meaning(text: str, turn_id: int) -> Meaning:
        asked = library.embedder.asked_in_turn(text, turn_id)
        if asked["query_vector"] is not None:
            knn.load_neighbours(database, "frame")
        return asked

    agent = AgentServices(library, settings.tools, tools)
    permits = call.shows if call else None
    try:
        yield TurnServices(database, models, library.clock, meaning, agent, permits=permits)
    finally:
        models.close()
