"""Chats of the past, and one that is told of them: what pages of memory are looked at with."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from store.chats import attachments
from store.chats.records import StoredEvidence
from store.egress import providers
from store.egress.providers import Provider
from store.memory import chat_sessions
from store.search.filters import Filters
from store.search.search import search
from tests.assistant.context.helpers import Past
from tests.factories import Clock
from tests.stub_model import StubModel
from webapp.core.services import Services

QUESTIONS = (
    "What did I set retention to?",
    "Who changed the retention policy, and in which file?",
    "Is the retention of pictures final?",
)
_PAST = (
    (
        1,
        "How long are pictures kept under the retention policy?",
        "You set retention to 14 days ",
    ),
    (3, "Which migration failed last week?", "The migration of the message index failed at step 31."),
    (6, "保留策略设成了多少天？", "保留策略设成了十四天。"),
    (12, "Where was the invoice of Wagner?", "Invoice 4711 of Wagner is in the mail of 9 November."),
    (40, "What was the plan for the retention of text?", "Text is kept for a year."),
    (75, "Which colours did the design use?", "The design used indigo and grey."),
)


def past(own: Services) -> int:
    """Fill in what was asked before; a session of it."""
    frame = search(own.database, "command", Filters(0), order="newest").hits[0]
    evidence = [StoredEvidence(1, frame.frame_id, frame.captured_ms, app_name="Code", state="found")]
    made = Past(own.context, Clock(own.clock()))
    return max(
        made.window(question, "And why is that?", answers=[answer, "No reason is given."], days_ago=days,
                    evidence=evidence if days < 4 else (), states=["found", "no_evidence"])
        for days, question, answer in _PAST
    )  # fmt: skip


def add_model(own: Services, stub: StubModel) -> None:
    """A model that can use tools and says the same to everything."""
    stub.reply({"answer_md": "It is final, as far as was recorded.", "evidence": []})
    providers.add(own.database.data_dir, Provider(0, "with-tools", stub.base_url, "m", supports_tools=True))
    providers.set_default(own.database.data_dir, "with-tools")
    own.chat_models.reload()


def ask(page: Page, origin: str) -> str:
    """Ask in one chat until it is told of the others, with a file at the last; the chat's address."""
    page.goto(f"{origin}/chat")
    for at, question in enumerate(QUESTIONS):
        page.locator("[data-composer][data-ready]").wait_for()
        if at == len(QUESTIONS) - 1:
            note = {"name": "retention-notes.txt", "mimeType": "text/plain", "buffer": b"Pictures: 14 days."}
            page.locator("input[type=file]").first.set_input_files([note])  # type: ignore[list-item]
            expect(page.locator("[name=attachments]:checked")).to_have_count(1)
        page.locator("#message").fill(question)
        page.locator("#message").press("Enter")
        expect(page.locator("[data-turn]:not([aria-busy=true])")).to_have_count(at + 1, timeout=60_000)
    return page.url.removeprefix(origin).partition("#")[0]


def pages(own: Services, chat: str, session_id: int) -> dict[str, str]:
    """Addresses of what there is to look at; the verbose log is on from here."""
    chat_sessions.set_verbose(own.database, True, own.clock())
    chat_id = int(chat.rpartition("/")[2])
    session = chat_sessions.latest_of_chat(own.database, chat_id)
    assert session is not None and attachments.of_chat(own.database, chat_id)
    return {
        "chat-remembered": f"{chat}#t3",
        "chat-memory": f"{chat}/memory",
        "chat-told": f"{chat}/turns/3/context",
        "chat-sessions": "/memory/sessions",
        "chat-session": f"/memory/sessions/{session_id}",
        "logging": "/settings/logging",
    }
