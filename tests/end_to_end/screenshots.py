"""Pictures of every page at three widths in two themes: ``python -m tests.end_to_end.screenshots FOLDER``,
or of the pages only that are named behind it; with ``--locale zh-CN`` in that language.
"""

from __future__ import annotations

import argparse
import socket
import threading
from dataclasses import replace
from pathlib import Path

from flask import Flask
from playwright.sync_api import Browser, Page, sync_playwright

from assistant.core.models import ChatModels
from store.core.database import Database
from store.core.settings import Settings
from store.search.filters import Filters
from store.search.search import search
from tests.end_to_end import demo_chats, demo_home, demo_memories
from tests.end_to_end.programs import chromium_path
from tests.stub_model import StubModel
from webapp import create_app
from webapp.security.access import make_launch_code
from webapp.serving.server import Server

NOW_MS = round(demo_home.NOW.timestamp() * 1000)
SIZES = {390: 844, 768: 1024, 1440: 900}


def main(folder: Path, names: list[str], locale: str) -> None:
    """Fill a home below `folder`, serve it, and take the pictures."""
    database = demo_home.fill(folder / "home")
    demo_memories.fill(database)
    demo_home.recording(database.data_dir, NOW_MS)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = _app(database, port)
    server = Server(app, listener, database.close_thread)
    threading.Thread(target=server.run, daemon=True).start()
    with StubModel() as stub, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), args=["--no-sandbox", "--disable-gpu"]
        )
        origin, token = f"http://127.0.0.1:{port}", app.extensions["recollect"].token
        pages = _pages(database, _ask(browser, origin, token))
        pages |= _memories(browser, database, origin, token)
        pages |= _chats(browser, app, origin, stub)
        pages = {name: path for name, path in pages.items() if not names or name in names}
        for theme in ("light", "dark"):
            for width in SIZES:
                page = _page(browser, origin, token, theme, width, locale)
                _shoot(page, f"{width}-{theme}", pages, folder)
        browser.close()
    server.stop()
    listener.close()


def _app(database: Database, port: int) -> Flask:
    settings = replace(Settings(), web=replace(Settings().web, port=port))
    models = ChatModels(settings.chat, {}, database.data_dir)
    return create_app(settings, database, chat_models=models, clock=lambda: NOW_MS)


def _pages(database: Database, answer: str) -> dict[str, str]:
    frame = search(database, "command", Filters(0), order="newest").hits[0].frame_id
    return {
        "welcome": "/welcome",
        "timeline": "/timeline",
        "timeline-hour": f"/timeline?frame={frame}&z=1h&app=Chrome",
        "timeline-empty": "/timeline?day=2026-11-15",
        "search": "/search?q=command",
        "search-browse": "/search",
        "search-none": "/search?q=command&app=Firefox",
        "frame": f"/frames/{frame}?q=command&hit=2",
        "chat-new": "/chat",
        "chats": "/chats",
        "chats-found": "/chats?q=today",
        "chat": answer,
        "chat-sent": f"{answer}/turns/1/sent",
        "chat-export": f"{answer}/turns/1/export",
        "chat-delete": f"{answer}/delete",
        "activity": "/activity?when=today",
        "days": "/days",
        "insight-new": f"/insights/new?frame={frame}",
        "models": "/settings/models",
        "tools": "/settings/tools",
        "sent": "/settings/sent",
        "recording": "/settings/recording",
        "storage": "/settings/storage?days=1",
        "about": "/settings/about",
        "privacy": "/privacy/erase?when=today",
        "display": "/settings/display",
        "status": "/status",
        "missing": "/frames/5",
    }


def _page(
    browser: Browser, origin: str, token: str, theme: str = "light", width: int = 1440, locale: str = "en-GB"
) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": SIZES[width]},
        color_scheme="dark" if theme == "dark" else "light",
        timezone_id="Asia/Shanghai",
        locale=locale,
        base_url=origin,
    )
    context.clock.set_fixed_time(demo_home.NOW)
    page = context.new_page()
    page.goto(f"{origin}/launch?code={make_launch_code(token, NOW_MS)}")
    return page


def _ask(browser: Browser, origin: str, token: str) -> str:
    page = _page(browser, origin, token)
    page.goto(f"{origin}/chat")
    page.fill("#message", "What did I do today?")
    page.select_option("select[name=when]", "today")
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/chat/*#t1")
    address = page.url.removeprefix(origin).partition("#")[0]
    page.context.close()
    return address


def _memories(browser: Browser, database: Database, origin: str, token: str) -> dict[str, str]:
    """Sources, people, facts, days, insights and personas with something in them."""
    page = _page(browser, origin, token)
    frame = search(database, "command", Filters(0), order="newest").hits[0].frame_id
    told = demo_memories.tell(page, origin, frame)
    page.context.close()
    return told | demo_memories.pages(database)


def _chats(browser: Browser, app: Flask, origin: str, stub: StubModel) -> dict[str, str]:
    """What chats came to, and one that is told of them."""
    own = app.extensions["recollect"]
    session_id = demo_chats.past(own)
    demo_chats.add_model(own, stub)
    page = _page(browser, origin, own.token)
    found = demo_chats.pages(own, demo_chats.ask(page, origin), session_id)
    page.context.close()
    return found


def _shoot(page: Page, kind: str, pages: dict[str, str], folder: Path) -> None:
    for name, path in pages.items():
        page.goto(path)
        page.wait_for_load_state("networkidle")
        if name == "persona-tried":
            page.locator("[formaction='/personas/preview']").click()
            page.locator("#tried").scroll_into_view_if_needed()
        if name == "chat-remembered":
            page.locator(".went > summary").last.click()
            page.wait_for_load_state("networkidle")
        page.screenshot(path=folder / f"{name}-{kind}.png")
    page.context.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--locale", default="en-GB")
    main(**vars(parser.parse_args()))
