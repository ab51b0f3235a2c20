"""The browser's session: a signed cookie, and the CSRF token that belongs to it."""

from __future__ import annotations

import hmac
import secrets

from flask import session

from webapp.security.access import derive_key

CSRF_FIELD = "csrf_token"
CSRF_HEADER = "X-CSRF-Token"


def sign_in() -> None:
    """Give this browser a session."""
    session.clear()
    session.permanent = True
    session["id"] = secrets.token_urlsafe(16)


def has_session() -> bool:
    return "id" in session


def csrf_token(token: str) -> str:
    """What a form of this session must carry; empty when there is no session."""
    if not has_session():
        return ""
    key = derive_key(token, "csrf")
    return hmac.new(key, session["id"].encode(), "sha256").hexdigest()


def is_csrf_token(shown: str, token: str) -> bool:
    expected = csrf_token(token)
    return bool(expected) and hmac.compare_digest(shown.encode(), expected.encode())
