"""Running one tool by itself, as a turn would."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any

from assistant.core.endpoints import built_in
from assistant.core.models import AnyModel
from assistant.core.query_embedder import QueryEmbedder
from assistant.read_api.calls import ReadSources
from assistant.tools.context import Findings
from assistant.tools.registry import registry
from assistant.tools.tool import ToolFailed
from store.core.database import Database
from store.core.settings import Settings, ToolsSettings
from store.core.translation import stored_form, translate_stored
from store.frames.media import Media
from tests.assistant.helpers import NOW_MS
from tests.fake_embedder import FakeEmbedder


@dataclass(frozen=True)
class Result:
    """What came of a call: its output, or why there is none."""

    success: bool
    output: str = ""
    error: str = ""


class Turn:
    """What a call is handed; see the protocols in `assistant.tools`."""

    def __init__(
        self,
        database: Database,
        range_ms: tuple[int, int] | None = None,
        zone: tzinfo = UTC,
        make: Callable[[], Any] = FakeEmbedder,
        now_ms: int = NOW_MS,
        turn_id: int | None = None,
    ) -> None:
        settings = Settings()
        embedder = QueryEmbedder(settings.embedding, database, make)
        self.library = ReadSources(
            database, Media(database.data_dir.media), settings, embedder, lambda: now_ms
        )
        self.findings = Findings()
        self.now_ms = now_ms
        self.zone = zone
        self.range_ms = range_ms
        self.at_ms: int | None = None
        self.settings = ToolsSettings()
        self.eyes: AnyModel | None = None
        self.endpoint = built_in("")
        self.turn_id = turn_id
        self.tools = registry(self.settings)

    def run(self, name: str, /, **arguments: Any) -> Result:
        try:
            return Result(True, self.tools[name].answer(self, arguments))
        except ToolFailed as failure:
            return Result(False, error=str(failure))

    def answer(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """What the tool gives; it must not fail."""
        result = self.run(name, **arguments)
        assert result.success, result.error
        told: dict[str, Any] = json.loads(result.output)
        return told

    def notice(self, name: str, /, **arguments: Any) -> str:
        """What a person is told that the call will do."""
        return translate_stored(stored_form(self.tools[name].notice(self, arguments)[0]))

    def error(self, name: str, /, **arguments: Any) -> str:
        """Why the tool fails; it must fail."""
        result = self.run(name, **arguments)
        assert not result.success, result.output
        return result.error
