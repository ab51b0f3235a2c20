"""The pictures that go with a question: attached images, and the frames that it is most about.

A frame's picture goes to a model that can see, where the person lets it (``chat.send_pictures``): to one on
this machine by itself, to any other when it is asked for with the question. It passes today's exclusion rules
and leaves an audit row like any look at a frame, and the ledger names it before it leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import apsw

from assistant.core.endpoints import Endpoint
from assistant.read_api import calls
from assistant.read_api.calls import ReadRefused
from assistant.retrieval.retrieval import Entry, Retrieval
from assistant.tools.context import DOOR
from assistant.tools.screen import Shot, shot
from assistant.turns import attachments
from assistant.turns.plan import RunningTurn, TurnPlan
from engines.chat.protocol import Picture
from store.frames import frames

MAX_FRAMES = 3
"""Frames whose pictures go with one question, where it is about none in particular."""
TOKENS = 1_500
"""About what a picture takes of a model's window."""


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
    for entry in _most_relevant(plan, retrieval)[: max_tokens // TOKENS]:
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


def _most_relevant(plan: TurnPlan, retrieval: Retrieval) -> Sequence[Entry]:
    """The frame that the question is about, else those that its search found first."""
    by_frame = {entry.frame.id: entry for entry in retrieval.entries}
    anchored = plan.about.anchor.frame_id if plan.about else None
    about = plan.request.frame_id if anchored is None else anchored
    wanted = retrieval.best[:MAX_FRAMES] if about is None else (about,)
    return [by_frame[frame_id] for frame_id in wanted if frame_id in by_frame]
