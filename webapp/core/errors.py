"""Errors as answers: problem+json for programs (RFC 9457), a page for people.

Every refusal is a `Problem`: a stable `code`, a sentence, a status. What nobody expected is
logged with its traceback under the request's id, and the answer carries only that id.
"""

from __future__ import annotations

import errno
import json
import logging
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from flask import Flask, Response, g, render_template, request
from jinja2 import Template
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import HTTPException

from assistant.core.errors import TimeRangeRequired, TurnRefused, UnknownChat
from assistant.turns.live import TooManyTurns
from store.chats.personas import BuiltInPersona, PersonaInvalid
from store.chats.prompts import PromptInvalid
from store.core import errors as store_errors
from store.core.errors import NotFound
from store.core.translation import N_
from store.core.translation import gettext as _
from store.egress.providers import HostNotAllowed, ProviderInvalid, ProvidersUnreadable
from webapp.core.services import wants_fragment

log = logging.getLogger(__name__)

_Row = TypeVar("_Row")

REFUSALS = (store_errors.StoreError, TurnRefused, TooManyTurns)
"""What the rooms below say no with; anything else is a failure of ours."""

PROBLEM_TYPE = "application/problem+json"
API_PREFIX = "/api/"
RETRY_AFTER_S = 5


class Problem(Exception):
    """A refusal with its status, stable code and sentence."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: tuple[tuple[str, str], ...] = (),  # (field, message)
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})

    @property
    def title(self) -> str:
        return _(HTTPStatus(self.status).phrase)

    @property
    def headline(self) -> str:
        """The title in a person's words."""
        return _("This is not possible") if self.status in (400, 422) else self.title

    def document(self) -> dict[str, Any]:
        """The RFC 9457 members."""
        document: dict[str, Any] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "request_id": request_id(),
            **self.extra,
        }
        if self.errors:
            document["errors"] = [{"field": field, "message": message} for field, message in self.errors]
        return document


_TITLES = (
    N_("Bad Request"),
    N_("Unauthorized"),
    N_("Forbidden"),
    N_("Not Found"),
    N_("Method Not Allowed"),
    N_("Request Timeout"),
    N_("Conflict"),
    N_("Gone"),
    N_("Request Entity Too Large"),
    N_("Unsupported Media Type"),
    N_("Unprocessable Entity"),
    N_("Too Many Requests"),
    N_("Internal Server Error"),
    N_("Bad Gateway"),
    N_("Service Unavailable"),
)
"""What the standard library calls the statuses that pages may have."""
_NOUNS = {
    "attachment": N_("attachment"),
    "chat": N_("chat"),
    "day": N_("day"),
    "entity": N_("person or thing"),
    "fact": N_("fact"),
    "frame": N_("frame"),
    "import": N_("import"),
    "insight": N_("insight"),
    "observation": N_("episode"),
    "persona": N_("voice"),
    "provider": N_("model"),
    "request": N_("request"),
    "session": N_("chat summary"),
    "tool": N_("tool"),
    "tool call": N_("tool call"),
    "topic": N_("topic"),
    "turn": N_("turn"),
}
"""What may be missing, as `NotFound` calls it, in the words of pages."""


def invalid(status: int, code: str, *errors: tuple[str, str]) -> Problem:
    """Invalid input, as (field, message): the first as the sentence, all of them in `errors`."""
    field, message = errors[0]
    return Problem(status, code, _("%(name)s: %(value)s", name=field, value=message), errors=errors)


def request_id() -> str:
    """This request's name in the log and in error answers."""
    if "request_id" not in g:
        g.request_id = uuid.uuid4().hex[:16]
    return str(g.request_id)


def is_api() -> bool:
    """Whether this request wants problem+json rather than a page."""
    return request.path.startswith(API_PREFIX)


def install(app: Flask) -> None:
    """Answer every exception with a problem."""
    app.register_error_handler(Problem, problem_response)
    app.register_error_handler(HTTPException, lambda error: problem_response(_of_http(error)))
    app.register_error_handler(OSError, of_system)
    for kind in REFUSALS:
        app.register_error_handler(kind, lambda error: problem_response(problem_of(error)))
    app.register_error_handler(Exception, _unexpected)


def problem_response(problem: Problem) -> Response:
    """The problem in the format that was asked for: a script gets no page, and a person no JSON."""
    if is_api():
        body = json.dumps(problem.document(), ensure_ascii=False)
        response = Response(body, problem.status, content_type=PROBLEM_TYPE)
    else:
        response = _page(problem)
    response.headers.update(problem.headers)
    return response


def _page(problem: Problem) -> Response:
    names: list[str | Template] = [f"{problem.status}.html", "error.html"]
    if wants_fragment():
        names.insert(0, "_error.html")
    if "viewer" not in g:
        request.form = ImmutableMultiDict()  # it may be too large to be read for its zone
    try:
        html = render_template(names, problem=problem, request_id=request_id())
    except Exception:
        # The page that tells an error must not be one more: a plain sentence is always possible.
        log.exception("no page for the problem of request %s", request_id())
        text = f"{problem.title}. {problem.detail}\n"
        return Response(text, problem.status, content_type="text/plain; charset=utf-8")
    return Response(html, problem.status, content_type="text/html; charset=utf-8")


def unreadable_address(field: str, message: str) -> Problem:
    """The refusal of an address with something in it that cannot be read."""
    detail = _("The address cannot be understood.")
    return Problem(400, "invalid_request", detail, errors=((field, message),))


_GONE = (N_("altered"), N_("deleted"), N_("missing"), N_("retention"))
"""Why a picture or a file is gone, as `MediaGone` and `AttachmentGone` call it."""
_PROBLEMS: dict[type[Exception], tuple[int, str, str]] = {
    store_errors.AttachmentGone: (410, "attachment_gone", N_("The file is {reason}.")),
    store_errors.AttachmentSent: (
        409, "attachment_sent", N_("It belongs to a question that was asked, and goes with its chat."),
    ),
    store_errors.MediaGone: (
        410, "media_gone",
        N_("The picture of frame {error.frame_id} is gone ({reason}); its text may remain."),
    ),
    HostNotAllowed: (409, "host_not_allowed", "{error}."),
    BuiltInPersona: (409, "builtin_persona", "{error}."),
    ProvidersUnreadable: (
        503, "providers_unreadable", N_("{error}. It is left as it is; correct or remove it."),
    ),
    TooManyTurns: (
        503, "too_many_turns", N_("Too many questions are being answered; try again when one is done."),
    ),
    store_errors.SpoolFull: (503, "spool_full", N_("The spool is full; try again later.")),
    store_errors.StoreBusy: (503, "store_busy", N_("The database is busy; try again.")),
    store_errors.DeadlineExceeded: (503, "deadline_exceeded", N_("This took too long and was stopped.")),
    store_errors.DatabaseGone: (
        503, "database_gone", N_("The database was moved or removed; put it back, or restart Recollect."),
    ),
    store_errors.DatabaseDamaged: (
        503, "database_damaged", N_("The database cannot be read; `recollect doctor` says what to do."),
    ),
}  # fmt: skip


def problem_of(error: Exception) -> Problem:
    """What one of the `REFUSALS` means to a caller."""
    match error:
        case UnknownChat():
            return problem_of(NotFound("chat", error.chat_id))
        case TurnRefused():
            status = 400 if error.code in ("invalid_time_range", "invalid_timezone") else 422
            extra: dict[str, Any] = {}
            if isinstance(error, TimeRangeRequired):
                extra = {"understood": error.understood, "problem": error.problem}
            return Problem(status, error.code, str(error), errors=((error.field, str(error)),), extra=extra)
        case NotFound():
            code = f"{error.noun.replace(' ', '_')}_not_found"
            noun = error.noun if is_api() else _(_NOUNS.get(error.noun, error.noun))
            detail = _("There is no %(noun)s %(name)s.", noun=noun, name=error.name)
            return Problem(404, code, detail)
        case PersonaInvalid():
            return invalid(422, "invalid_persona", *error.errors)
        case PromptInvalid():
            return invalid(422, f"invalid_{error.field}", (error.field, str(error)))
        case ProviderInvalid():
            return invalid(422, "invalid_provider", *error.errors)
    known = next((_PROBLEMS[cls] for cls in type(error).__mro__ if cls in _PROBLEMS), None)
    if known is None:
        log.exception("unexpected store error in request %s", request_id(), exc_info=error)
        return _internal_error()
    status, code, detail = known
    if isinstance(error, store_errors.DatabaseUnusable | ProvidersUnreadable):
        log.error("%s: %s", code, error)
    waits = status == 503 and not isinstance(error, ProvidersUnreadable)  # that one a person has to mend
    headers = {"Retry-After": str(RETRY_AFTER_S)} if waits else {}
    extra_fields = {store_errors.MediaGone: "reason", HostNotAllowed: "host"}
    extra = {name: getattr(error, name) for cls, name in extra_fields.items() if isinstance(error, cls)}
    text = _(detail).format(error=error, reason=_(getattr(error, "reason", "")))
    return Problem(status, code, text, headers=headers, extra=extra)


_HTTP_CODES = {
    400: ("bad_request", N_("The request cannot be understood.")),
    404: ("not_found", N_("There is nothing at this address.")),
    405: ("method_not_allowed", N_("This address does not answer to that method.")),
    408: ("too_slow", N_("The request arrived too slowly; send it again.")),
    413: ("too_large", N_("The request is too large.")),
    415: ("unsupported_media_type", N_("This content type is not accepted here.")),
}


def _of_http(error: HTTPException) -> Problem:
    status = error.code or 500
    fallback = (HTTPStatus(status).name.lower(), HTTPStatus(status).phrase + ".")
    code, detail = _HTTP_CODES.get(status, fallback)
    detail = _(detail)
    if status == 413:
        most = (request.max_content_length or 0) // 1_000_000
        detail = _("The request is larger than %(number)s MB.", number=most)
    kept = {"Allow", "Location", "Retry-After"}
    headers = {name: value for name, value in error.get_headers() if name in kept}
    return Problem(status, code, detail, headers=headers)


def of_system(error: OSError) -> Response:
    """A full disk is nobody's defect: what was asked can be asked again."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return _unexpected(error)
    log.error("the disk is full: %s", error)
    detail = _("The disk is full. Free some space, or delete a range that you no longer need.")
    return problem_response(Problem(503, "disk_full", detail, headers={"Retry-After": str(RETRY_AFTER_S)}))


def _unexpected(error: Exception) -> Response:
    log.exception("request %s failed", request_id(), exc_info=error)
    return problem_response(_internal_error())


def _internal_error() -> Problem:
    return Problem(500, "internal_error", _("Something went wrong on our side."))
