"""The pictures that go with a question: attached images, and frames whose text cannot answer it.

A frame's picture goes where the question is about that frame, is asked with pictures, or asks how something
looks, and where hardly any text was read on it. It goes to a model that can see, as the person lets it
(``chat.send_pictures``): to one on this machine by itself, to any other when it is asked for with the
question. It passes today's exclusion rules and leaves an audit row like any look at a frame, and the ledger
names it before it leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import apsw

from assistant.core.endpoints import Endpoint
from assistant.core.texts import matches
from assistant.read_api import calls
from assistant.read_api.calls import ReadRefused
from assistant.retrieval.look_alikes import looks
from assistant.retrieval.retrieval import Entry, Retrieval
from assistant.tools.context import DOOR
from assistant.tools.screen import Shot, shot
from assistant.turns import attachments
from assistant.turns.plan import RunningTurn
from engines.chat.protocol import Picture
from store.frames import frames

MAX_FRAMES = 3
"""Frames whose pictures go with one question, where it is about none in particular."""
TOKENS = 1_500
"""About what a picture takes of a model's window."""
HARDLY_READ_LETTERS = 60
"""A frame with fewer says little by its text: a photo, a film, a drawing."""

LOOKS = "What colour is it in the picture? What does the photo, the chart or the drawing show?"
WRITTEN = "What is written about it? Who, when, where and how much is it?"
NEARER = 0.12
"""A question that is so much nearer in meaning to the first than to the second asks how something looks:
30 of 34 in ten languages are, and 9 of 297 that ask for what is written.
"""


@dataclass(frozen=True, slots=True)
class Pictures:
    """What is sent, in its order: attached images, then frames, by what the ledger calls each. `told` is how
    a model is told which frames it sees; '' for none.
    """

    by_name: Mapping[str, Picture] = field(default_factory=dict)
    shots: tuple[Shot, ...] = ()
    told: str = ""

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(self.by_name.values())

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """What stands in a request, and what the ledger puts in its place."""
        return tuple((picture.data_url, name) for name, picture in self.by_name.items())

    @property
    def shows(self) -> tuple[int | None, int | None]:
        """The span of time that the frames are of."""
        times = [shot.frame.captured_ms for shot in self.shots]
        return (min(times), max(times)) if times else (None, None)

    def are_current(self, connection: apsw.Connection) -> bool:
        """Whether all the frames still have these pictures."""
        shown = (shot.frame for shot in self.shots)
        return all(frames.has_picture(connection, frame.id, frame.sha256) for frame in shown)


def may_send(setting: str, endpoint: Endpoint, *, is_asked_for: bool) -> bool:
    """Whether pictures of frames may go to a model."""
    if not endpoint.supports_vision or setting == "never":
        return False
    return is_asked_for or (setting == "local" and endpoint.is_local)


def of_turn(turn: RunningTurn, retrieval: Retrieval, max_tokens: int) -> Pictures:
    """The images of the question and as many pictures of its frames as take so many tokens.

    Raises `AttachmentGone`.
    """
    attached = attachments.pictures(turn.database, turn.plan.attached)
    agent, models, plan = turn.services.agent, turn.services.models, turn.plan
    endpoint = models.endpoint(plan.model.name)
    may_see = may_send(models.send_pictures, endpoint, is_asked_for=plan.request.pictures)
    if agent is None or plan.mode != "auto" or not may_see:
        return Pictures(attached)
    shots, cites = [], []
    for entry in _wanted(turn, retrieval)[: max_tokens // TOKENS]:
        try:
            with calls.call(agent.library, DOOR, "describe_frame", plan.zone) as call:
                shots.append(shot(call, calls.frame(call, entry.frame.id)))
        except ReadRefused:  # excluded by a rule of today, or its picture is gone
            continue
        cites.append(f"[[{entry.id}]]")
    if not shots:
        return Pictures(attached)
    told = f"With this message come pictures of these frames, in this order: {', '.join(cites)}."
    return Pictures(attached | {each.name: each.picture for each in shots}, tuple(shots), told)


def _wanted(turn: RunningTurn, retrieval: Retrieval) -> Sequence[Entry]:
    """The frame that the question is about, else those found first whose text is not enough, each of another
    screen.
    """
    plan = turn.plan
    anchored = plan.about.anchor.frame_id if plan.about else None
    about = plan.request.frame_id if anchored is None else anchored
    if about is not None:
        return [entry for entry in retrieval.entries if entry.frame.id == about]
    found = _of_other_screens(retrieval)[:MAX_FRAMES]
    if plan.request.pictures or _asks_for_looks(turn, retrieval):
        return found
    return [entry for entry in found if sum(map(str.isalpha, entry.frame.text)) < HARDLY_READ_LETTERS]


def _of_other_screens(retrieval: Retrieval) -> Sequence[Entry]:
    """What was found first, of several looks at one screen the one that is told."""
    told = looks(retrieval.entries)
    of_frame = {number: look for look in told for number in (look.entry.frame.id, *look.frames)}
    found = (of_frame[number] for number in retrieval.best if number in of_frame)
    return list({look.same_as or look.entry.id: look.entry for look in reversed([*found])}.values())[::-1]


def _asks_for_looks(turn: RunningTurn, retrieval: Retrieval) -> bool:
    """Whether a question asks how something looks, and not what has been read already."""
    plan, embedder = turn.plan, turn.services.embedder
    near = embedder.nearness(plan.message, (LOOKS, WRITTEN)) if embedder and plan.words else ()
    if not near or near[0] - near[1] < NEARER:
        return False
    shown = "\n".join(f"{entry.frame.window_name or ''}\n{entry.frame.text}" for entry in retrieval.entries)
    return matches(plan.words, shown) < len(plan.words)
