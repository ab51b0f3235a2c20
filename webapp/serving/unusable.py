"""What is served where the database cannot be used: one plain page that says why, and what to do.

It tells nothing of what was recorded, so it asks nobody to sign in: that takes the database.
"""

from __future__ import annotations

from flask import Flask, Response, render_template, request

from store.core.settings import WebSettings
from webapp.core import errors, languages
from webapp.core.errors import Problem
from webapp.security import guards


def unusable_app(app: Flask, what: str, action: str, web: WebSettings) -> Flask:
    """Let an empty app answer every address with the two sentences, and programs with a problem."""
    languages.install(app)

    @app.before_request
    def tell() -> Response | None:
        if not guards.is_own_host(web):
            return Response("This server does not answer to that Host.\n", 403, content_type="text/plain")
        if request.endpoint == "static":
            return None
        if errors.is_api():
            return errors.problem_response(Problem(503, "database_unusable", f"{what} {action}".strip()))
        html = render_template("unusable.html", what=what, action=action)
        return Response(html, 503, content_type="text/html; charset=utf-8")

    app.after_request(guards.protect)
    return app
