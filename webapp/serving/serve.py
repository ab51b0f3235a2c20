"""`recollect web`: the pages and the API in one process, until a signal ends it."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from dataclasses import replace

from flask import Flask

from assistant.context.session_closing import Keeper
from assistant.core.errors import interrupted
from assistant.core.models import ChatModels
from assistant.core.records import Coverage
from assistant.turns.stored_turns import payload
from store.chats import attachments, conversations, tool_calls
from store.core.database import Database, open_database
from store.core.errors import StoreError
from store.core.paths import DataDir
from store.core.settings import Settings
from store.core.times import now_ms
from store.deletion import deletion
from store.frames import apps
from store.frames.media import Media
from webapp.core.services import Services
from webapp.ops.control import advertise_address
from webapp.security.access import launch_link
from webapp.security.address import PortInUse, check_address, listen
from webapp.serving.server import Server
from webapp.serving.webapp_app import create_app

log = logging.getLogger(__name__)


def serve(data_dir: DataDir, settings: Settings, tell: Callable[[str], object] | None) -> None:
    """Serve one home folder; `tell` gets a launch link once requests are answered.

    Raises `SettingsError` for an address that is not permitted and `PortInUse`.
    """
    check_address(settings.web)
    with listen(settings.web.host, settings.web.port) as listener:
        port = listener.getsockname()[1]
        settings = replace(settings, web=replace(settings.web, port=port))
        database = open_database(data_dir)
        conversations.fail_interrupted(database, payload(Coverage(0, 0), error=interrupted("en")))
        tool_calls.expire_all(database, now_ms())
        app = create_app(settings, database, chat_models=ChatModels(settings.chat, data_dir=data_dir))
        server = Server(app, listener, thread_done=database.close_thread)
    _stop_on_signals(server)
    compat = _compat(app)
    threading.Thread(target=_sweep, args=(database,), name="sweep", daemon=True).start()
    keeper = Keeper(app.extensions["recollect"].context)
    keeper.start()
    with advertise_address(data_dir, settings.web.host, port) as address:
        if tell:
            tell(f"Open this link once, within five minutes:\n  {launch_link(data_dir, address.url)}")
        log.info("serving %s", address.url)
        server.run()
        log.info("the pages have ended")
    keeper.stop()
    if compat:
        compat.stop()
    database.close_thread()


def _compat(app: Flask) -> Server | None:
    """The screenpipe-shaped port, answered beside the pages; None when it is not wanted or taken."""
    own: Services = app.extensions["recollect"]
    port = own.settings.compat.screenpipe_port
    if not port:
        return None
    from webapp.integrations.screenpipe.compat_app import create_compat_app

    try:
        with listen("127.0.0.1", port) as listener:
            door = Server(create_compat_app(own, port), listener, thread_done=own.database.close_thread)
    except PortInUse as error:
        # Most likely screenpipe itself: no reason to go without the pages.
        log.error("the screenpipe-shaped API is not served: %s", error)
        return None
    threading.Thread(target=door.run, name="compat", daemon=True).start()
    log.info("serving the screenpipe-shaped API on port %d", port)
    return door


def _sweep(database: Database) -> None:
    """Finish deletions that a crash cut short, and give the most used apps their colours.

    Beside the serving: a long spool, or a month of activity, takes seconds.
    """
    try:
        deletion.sweep(database, Media(database.data_dir.media))
        attachments.sweep(database, now_ms())
        with database.write() as connection:
            apps.assign_slots(connection, now_ms())
    except (StoreError, OSError):
        log.exception("what a deletion left could not be swept, or no colours given")
    finally:
        database.close_thread()


def _stop_on_signals(server: Server) -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: server.stop())
