"""The real server with a model that streams from a script, behind a relay, for a browser to talk to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from flask import Flask

from assistant.core.models import ChatModels
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings, Settings, ToolsSettings
from store.core.times import now_ms
from tests.end_to_end import visits
from tests.end_to_end.relay import Relay
from tests.end_to_end.visits import Served
from tests.stub_model import StubModel
from webapp import create_app


@dataclass
class TalkSite(Served):
    """`origin` is the relay's: what runs over it can be cut."""

    relay: Relay
    stub: StubModel
    notes: Path  # a folder that the file tools may read


Talk = visits.Visit[TalkSite]
talk = visits.visit


@contextmanager
def talk_site(
    folder: Path, database: Database | None = None, *, sees: bool = False, answer_s: float = 60
) -> Iterator[TalkSite]:
    """A site on a home below `folder`, or on the home of `database`; its model `sees` images, and has
    `answer_s` for an answer.
    """
    notes = folder / "notes"
    notes.mkdir()
    (notes / "plan.txt").write_text("the plan for monday", encoding="utf-8")
    database = database or open_database(DataDir(folder / "home").create())
    with StubModel() as stub, Relay() as relay:
        entry = ChatModelSettings(
            "stub", stub.base_url, "stub",
            supports_tools=True, supports_vision=sees, context_tokens=32_768,  # room for every tool
        )  # fmt: skip

        def app(settings: Settings) -> Flask:
            relay.target = settings.web.port
            settings = replace(
                settings,
                chat=ChatSettings(models=(entry,), timeout_s=answer_s),
                tools=ToolsSettings(read_file_roots=(str(notes),)),
                web=replace(settings.web, port=relay.port),
            )
            models = ChatModels(settings.chat, {})
            return create_app(settings, database, chat_models=models, clock=now_ms)

        with visits.served(database, app) as found:
            yield TalkSite(f"http://127.0.0.1:{relay.port}", found.app, relay, stub, notes)
            relay.drop()
