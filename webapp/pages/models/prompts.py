"""Settings, Models: what a model is always told first, edited, taken back, compared.

The field saves by itself while somebody types (``auto``), and by its button without scripts.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from urllib.parse import quote

from flask import request
from werkzeug.wrappers import Response

from store.chats import prompts
from store.chats.prompts import PromptChanged, PromptInvalid
from store.chats.versioned_texts import compared
from store.core.translation import gettext as _
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.formatting import difference
from webapp.core.parameters import number
from webapp.core.services import services
from webapp.pages.models.prompt_blocks import PromptEditor, editor
from webapp.pages.models.routes import models_page

PATH = "/settings/models/prompt"


@templating.post(PATH)
def save() -> Response:
    """Keep what was typed. What was saved elsewhere meanwhile is overwritten only with ``keep=mine``."""
    own, form = services(), request.form
    shown = _shown(form.get("model", ""))
    name, text, base = shown.info.name, _text(), form.get("base", "")
    try:
        prompts.save(
            own.database, name, text, own.clock(), saved_by="person", is_draft=form.get("auto") == "1",
            based_on=None if form.get("keep") == "mine" else base,
        )  # fmt: skip
    except PromptInvalid as error:
        return _answer(replace(shown, text=text, base=base, problem=str(error)), 422)
    except PromptChanged as error:
        return _answer(replace(shown, text=text, base=base, theirs=error.current), 409)
    if templating.wants_fragment():
        # What stands in the field may have been changed since by the one who types: counted as it was sent.
        return _answer(replace(_shown(name), text=text), 200)
    return templating.redirect_to(_address(name))


@templating.post(f"{PATH}/clear")
def clear() -> Response:
    """Tell the model nothing of one's own any more. The text stays in the history."""
    return _put(_shown(request.form.get("model", "")), "")


@templating.post(f"{PATH}/restore")
def restore() -> Response:
    """Put an earlier version in force again, as a new one."""
    shown = _shown(request.form.get("model", ""))
    version = prompts.version(services().database, shown.info.name, number(request.form, "version", 9) or 0)
    if version is None:
        raise Problem(404, "prompt_not_found", _("This version is no longer kept."))
    return _put(shown, version.content)


@templating.get(f"{PATH}/history")
def versions() -> Response:
    """Every version that is kept; ``from`` and ``to`` are compared."""
    name = request.args.get("model", "")
    kept = prompts.versions(services().database, name)
    if not kept:
        raise Problem(404, "prompt_not_found", _("This model never had a system prompt."))
    older, newer = compared(kept, number(request.args, "from", 9), number(request.args, "to", 9))
    return templating.render_page(
        "models/prompt_history.html",
        model=name,
        versions=kept,
        older=older,
        newer=newer,
        lines=difference(older.content, newer.content) if older and newer else [],
        back=_address(name),
    )


def _shown(name: str) -> PromptEditor:
    """The editor of a model that takes a prompt. Raises 404."""
    shown = editor(services(), name)
    if shown is None or shown.info.name != name:
        raise Problem(404, "model_not_found", _("There is no such model any more."))
    return shown


def _text() -> str:
    """What was typed. A form sends its lines with CR LF (https://html.spec.whatwg.org/#submit-mutable-form)."""
    return request.form.get("system_prompt", "").replace("\r\n", "\n")


def _put(shown: PromptEditor, text: str) -> Response:
    own, name = services(), shown.info.name
    if "system_prompt" in request.form:
        # What stands in the field goes to the history, where it can be found, before another text replaces
        # it. What cannot be kept has been said to be unsaved; whoever replaces it gives it up.
        with suppress(PromptInvalid, PromptChanged):
            prompts.save(
                own.database, name, _text(), own.clock(), saved_by="person", is_draft=True,
                based_on=request.form.get("base", ""),
            )  # fmt: skip
    before = prompts.current(own.database, name)
    saved = prompts.save(own.database, name, text, own.clock(), saved_by="person")
    is_changed = before is not None and saved is not None and saved.version != before.version
    return templating.redirect_to(_address(name, undo=before.version if before and is_changed else None))


def _address(name: str, undo: int | None = None) -> str:
    return f"/settings/models?model={quote(name, safe='')}{f'&undo={undo}' if undo else ''}#prompt"


def _answer(found: PromptEditor, status: int) -> Response:
    """What the editor says of its text for a script, the page for everybody else."""
    if templating.wants_fragment():
        return templating.render_page("models/_prompt_facts.html", status, prompt=found)
    return models_page(status, prompt=found)
