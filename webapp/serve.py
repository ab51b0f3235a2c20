"""`recollect web`: the pages and the API in one process, until a signal ends it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace

from store.database import open_database
from store.paths import DataDir
from store.settings import Settings
from webapp.access import launch_link
from webapp.address import check_address, listen
from webapp.app import create_app
from webapp.assistant.models import ChatModels
from webapp.running import announced
from webapp.server import Server


def serve(data_dir: DataDir, settings: Settings, tell: Callable[[str], object] | None) -> None:
    """Serve one home folder; `tell` gets a launch link once requests are answered.

    Raises `SettingsError` for an address that is not permitted and `PortInUse`.
    """
    check_address(settings.web)
    with listen(settings.web.host, settings.web.port) as listener:
        port = listener.getsockname()[1]
        settings = replace(settings, web=replace(settings.web, port=port))
        database = open_database(data_dir)
        app = create_app(settings, database, chat_models=ChatModels(settings.chat))
        server = Server(app, listener, thread_done=database.close_thread)
        _stop_on_signals(server)
        with announced(data_dir, settings.web.host, port) as address:
            if tell:
                tell(f"Open this link once, within five minutes:\n  {launch_link(data_dir, address.url)}")
            server.run()
        database.close_thread()


def _stop_on_signals(server: Server) -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: server.stop())
