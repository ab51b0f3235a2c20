"""What was done, seen in its surroundings; open to correction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from flask import redirect, request
from werkzeug.wrappers import Response

from store.core.database import Database
from store.core.translation import N_
from store.core.translation import gettext as _
from store.frames import apps, frames
from store.frames.frames import FrameRow
from store.memory import observation_writer, observations, timeline
from store.memory.chat_summaries import ChatSummary
from store.memory.documents import SessionSummary, UserPrompt
from store.memory.entries import (
    Body,
    EntryType,
    MemoryEntry,
    of_observation,
)
from store.memory.observations import Fact, Observation
from store.memory.timeline import BadAnchor, UnknownAnchor
from store.search.sample import evenly
from webapp.core import formatting, templating
from webapp.core.errors import Problem
from webapp.core.parameters import number
from webapp.core.services import services, viewer

_SHOTS = 3
_TYPE_NAMES: dict[EntryType, str] = {
    "observation": N_("What was done"),
    "session": N_("Session"),
    "prompt": N_("Asked"),
    "insight": N_("Insight"),
    "chat": N_("Chat"),
}
_FIELD_NAMES = {
    "request": N_("Asked for"),
    "investigated": N_("Looked at"),
    "learned": N_("Learned"),
    "completed": N_("Completed"),
    "next_steps": N_("Still to do"),
    "notes": N_("Notes"),
}
_MAX_CHARS = 1_000
_DEPTH = 5  # entries on each side: each is a card with pictures
_MAX_NARRATIVE = 4_000
_MAX_LINES = 50


@dataclass(frozen=True, slots=True)
class Card:
    """One entry. `address` leads to the whole of it, `around` to what lies around it."""

    entry: MemoryEntry
    colour_slot: int | None
    address: str
    around: str
    observation: Observation | None
    sections: tuple[tuple[str, list[Fact]], ...]  # of a session: (name, lines)
    shots: list[FrameRow]
    frames: Collection[int]  # ids of those that still exist
    is_anchor: bool

    @property
    def type_name(self) -> str:
        return _(_TYPE_NAMES[self.entry.type])


@templating.get("/memory")
def show() -> Response:
    """Where a day's observations are now: the page of that day."""
    day = request.args.get("day")
    return redirect(f"/days?{urlencode({'day': day})}" if day else "/days")


@templating.get("/memory/search")
def search() -> Response:
    """Where words are looked for now, in frames and in what else has them."""
    words = next((word for name in ("q", "concept", "file") if (word := request.args.get(name))), "")
    return redirect(f"/search?{urlencode({'q': words})}")


@templating.get("/memory/around")
def around() -> Response:
    """What lies around an anchor, which is marked."""
    anchor = request.args.get("anchor", "")[:_MAX_CHARS]
    depth = number(request.args, "depth", 2)
    depth = _DEPTH if depth is None else min(depth, timeline.MAX_DEPTH)
    unit: timeline.Unit = "hours" if request.args.get("unit") == "hours" else "records"
    database = services().database
    try:
        context = timeline.get_context_timeline(
            database, anchor, depth_before=depth, depth_after=depth, unit=unit
        )
    except BadAnchor as error:
        raise Problem(400, "invalid_anchor", formatting.sentence(error)) from error
    except UnknownAnchor as error:
        raise Problem(404, "anchor_not_found", formatting.sentence(error)) from error
    drawn = cards(database, context.entries, context.is_anchor)
    return templating.render_page(
        "memory/around.html",
        anchor=anchor,
        at_ms=context.anchor.at_ms if context.anchor.type == "time" else None,  # a moment that is no entry
        before=drawn[: context.before],
        after=drawn[context.before :],
        depth=depth,
        unit=unit,
    )


@templating.get("/memory/observations/<id:observation_id>")
def observation(observation_id: int) -> Response:
    """One observation with its frames, and the form to correct it."""
    return _form(observation_id, {}, 200)


@templating.post("/memory/observations/<id:observation_id>")
def edit(observation_id: int) -> Response:
    """Keep the person's words; what reads as before goes on following the frames."""
    observations.get(services().database, observation_id)
    own, form = services(), request.form
    words = {
        "title": " ".join(form.get("title", "").split())[:_MAX_CHARS],
        "narrative": form.get("narrative", "").replace("\r\n", "\n").strip()[:_MAX_NARRATIVE],
        "facts": _lines(form.get("facts", "")),
        "concepts": _lines(form.get("concepts", "").replace(",", "\n")),
        "kind": " ".join(form.get("kind", "").split())[:40],
        "project": " ".join(form.get("project", "").split())[:_MAX_CHARS] or None,
    }
    errors = {name: _("Needs at least one word.") for name in ("title", "kind") if not words[name]}
    if errors:
        return _form(observation_id, errors, 422)
    observation_writer.edit(own.database, observation_id, words, own.clock())
    return templating.redirect_to(f"/memory/observations/{observation_id}")


@templating.post("/memory/observations/<id:observation_id>/revert")
def revert(observation_id: int) -> Response:
    """Without a word of the person it follows its frames again."""
    observation_writer.edit(services().database, observation_id, {}, services().clock())
    return templating.redirect_to(f"/memory/observations/{observation_id}")


@templating.post("/memory/observations/<id:observation_id>/hide")
def hide(observation_id: int) -> Response:
    """Take it out of memory; its frames stay."""
    own = services()
    hidden = observations.get(services().database, observation_id)
    observation_writer.hide(own.database, observation_id, own.clock())
    day = viewer().day_of(hidden.start_ms)
    return redirect(f"/days/{day.date.isoformat()}", 303)


def _form(observation_id: int, errors: dict[str, str], status: int) -> Response:
    shown = observations.get(services().database, observation_id)
    [card] = cards(services().database, [of_observation(shown)])
    return templating.render_page(
        "memory/observation.html",
        status,
        card=card,
        observation=shown,
        day=viewer().day_of(shown.start_ms).date,
        errors=errors,
    )


def _lines(text: str) -> list[str]:
    lines = (" ".join(line.split())[:_MAX_CHARS] for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if line))[:_MAX_LINES]


def cards(
    database: Database,
    entries: Iterable[MemoryEntry],
    is_anchor: Callable[[MemoryEntry], bool] = lambda entry: False,
) -> list[Card]:
    slots = apps.colour_slots(database)
    return [_card(database, entry, slots, is_anchor(entry)) for entry in entries]


def _card(database: Database, entry: MemoryEntry, slots: Mapping[str, int | None], is_anchor: bool) -> Card:
    body = entry.body
    observation = body if isinstance(body, Observation) else None
    moment = datetime.fromtimestamp(entry.start_ms / 1000, UTC).isoformat()
    anchors = {"observation": f"{entry.id}", "session": f"session:{entry.id}", "prompt": f"prompt:{entry.id}"}
    around = f"/memory/around?{urlencode({'anchor': anchors.get(entry.type, moment)})}"
    address = around
    if observation:
        address = f"/memory/observations/{entry.id}"
    elif isinstance(body, UserPrompt):
        address = f"/chat/{body.chat_id}#t{body.prompt_number}"
    elif isinstance(body, ChatSummary):
        address = f"/chat/{body.chat_id}"
    elif entry.type == "insight":
        address = f"/insights/{entry.id}"
    rows = frames.get_many(database, observation.frame_ids) if observation else {}
    return Card(
        entry=entry,
        colour_slot=slots.get(observation.app_name or "") if observation else None,
        address=address,
        around=around,
        observation=observation,
        sections=tuple(_sections(database, body)),
        shots=evenly(list(rows.values()), _SHOTS),
        frames=rows.keys(),
        is_anchor=is_anchor,
    )


def _sections(database: Database, body: Body) -> Iterator[tuple[str, list[Fact]]]:
    """What a summary says by fields, with the frames that its lines stand on."""
    if not isinstance(body, SessionSummary | ChatSummary):
        return
    names, quoted = _FIELD_NAMES, dict[str, Fact]()
    if isinstance(body, SessionSummary):
        names = names | {"learned": N_("On the screen"), "completed": N_("Ticked off")}
        facts = observations.quoted(database, body.start_ms, body.end_ms, body.fields.values())
        quoted = {fact.text: fact for fact in facts}
    for field, text in body.fields.items():
        if text:
            yield _(names[field]), [quoted.get(line) or Fact(line, None) for line in text.split("\n")]
