"""Every page of an app, by its own list of addresses and the links that its pages hold."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, urlsplit

from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

_ADDRESS = re.compile(r'="(/[^"#]*)')
_NO_PAGES = ("/api/", "/static/", "/ws/", "/openapi.json", "/metrics")


class Walk:
    """Iterating yields (address, rule, source) of each form of an address that is answered with HTML.

    `unseen` are the rules that nothing led to so far.
    """

    def __init__(self, app: Flask, headers: Mapping[str, str], more: list[str]) -> None:
        rules = [rule for rule in app.url_map.iter_rules() if "GET" in (rule.methods or ())]
        rules = [rule for rule in rules if not rule.rule.startswith(_NO_PAGES)]
        self.unseen = {rule.rule for rule in rules}
        self._app, self._headers = app, headers
        self._waiting = [*more, *(rule.rule for rule in rules if not rule.arguments)]

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        adapter, client = self._app.url_map.bind("localhost"), self._app.test_client()
        known = set[tuple[str, ...]]()
        while self._waiting:
            address = self._waiting.pop(0)
            parts = urlsplit(address)
            try:
                rule, _ = adapter.match(parts.path, "GET", return_rule=True)
            except (HTTPException, RequestRedirect):
                continue  # where a form is sent
            form = rule.rule, *sorted({name for name, _ in parse_qsl(parts.query)})
            if form in known or rule.rule.startswith(_NO_PAGES):
                continue
            known.add(form)
            answer = client.get(address, headers=self._headers, buffered=False)
            self.unseen.discard(rule.rule)
            if answer.mimetype == "text/html" and not 300 <= answer.status_code < 400:
                text = answer.text
                self._waiting += [html.unescape(found) for found in _ADDRESS.findall(text)]
                yield address, rule.rule, text
            answer.close()
