"""An observation in better words: what a model is asked in the background, and what of it is believed.

The lines go to the model with the numbers of their frames. A fact is kept only when it stands on the very
frame it names, and a sentence only when half of its words stand on these frames, and all that code can
compare: so nonsense of the right shape changes nothing. What is kept is told as the model's words beside
what the rules say. Everything on a screen is somebody else's text: it is data, whatever it says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from assistant.context.relevance import is_told_of, sentences_of, terms
from assistant.core.egress_log import ask_once
from assistant.core.endpoints import Endpoint
from assistant.core.models import ChatModels
from assistant.core.strings import PROMPTS
from assistant.evidence.particulars import Screen
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import (
    Message,
    ModelError,
    ModelMalformed,
    ModelRefused,
    ModelStopped,
    object_in,
    object_schema,
)
from store.core import tokenizer, tombstones
from store.core.database import Database
from store.core.errors import Outdated
from store.frames.frames import captured_ms_of
from store.memory import observation_writer
from store.memory.observations import Fact, Observation
from store.ocr import readings

log = logging.getLogger(__name__)

MAX_NARRATIVE_CHARS = 800
MAX_FACTS = 8
MODEL_AGAIN_MS = 5 * 60_000
"""A model that does not answer at all is left alone this long, and no observation is blamed."""
_MIN_FACT_CHARS = 4
# Room for the instructions and the answer; four characters are about one token, Chinese is denser.
_MOST_CHARS = 8_000
_CHARS_PER_TOKEN = 1.5


_TEXT = {"type": "string"}
_FACT = object_schema(frame_id={"type": "integer"}, text=_TEXT)
_LINES = {"type": "array", "items": _TEXT}
SCHEMA = object_schema(narrative=_LINES, facts={"type": "array", "items": _FACT})

_INSTRUCTIONS: str = PROMPTS["observation"]


@dataclass(frozen=True, slots=True)
class Refined:
    """What is kept of a model's answer. Each of `facts` stands on its frame."""

    narrative: str
    facts: tuple[Fact, ...]


@dataclass(slots=True)
class ObservationWords:
    """Puts settled observations into better words, one at a time and outside any transaction.

    `choice` is who may be asked (``memory.refine``): ``local`` is a model on this machine, because nobody is
    asked before each request and screen text must not leave in the background unless that was chosen by name.
    """

    database: Database
    models: ChatModels
    choice: str
    clock: Callable[[], int]
    _again_ms: int = 0

    def step(self) -> bool:
        """Ask about the newest observation that is due; False where none is, or nobody may be asked now."""
        endpoint = permitted(self.models, self.choice)
        if endpoint is None or self.clock() < self._again_ms:
            return False
        since = tombstones.newest_now(self.database)  # before anything is read that is sent
        with self.models.in_background() as work:
            waiting = [] if work.is_over else observation_writer.due(self.database, self.clock(), 1)
            for observation, fingerprint in waiting:
                self._again_ms = self._refine(endpoint, observation, fingerprint, since)
        return bool(waiting)

    def _refine(self, endpoint: Endpoint, observation: Observation, fingerprint: str, since: int) -> int:
        """The moment before which the model is left alone. Raises `StoreError` where nothing may be sent."""
        try:
            better = refine(self.database, self.models, endpoint, self.clock, observation, since)
        except (ModelMalformed, ModelRefused) as error:
            log.warning("observation %d was not refined: %s", observation.id, error.code)
            with self.database.write() as connection:
                observation_writer.fail(connection, observation.id, fingerprint, error.code, self.clock())
            return 0
        except ModelStopped:  # somebody asks
            return 0
        except ModelError as error:  # it says nothing about the text that was sent
            log.warning("the model for memory does not answer: %s", error.code)
            return self.clock() + MODEL_AGAIN_MS
        with self.database.write() as connection:
            kept = observation_writer.accept(
                connection, observation.id, fingerprint, better.narrative, better.facts, self.clock()
            )
        log.info("observation %d was %s", observation.id, "refined" if kept else "changed meanwhile")
        return 0


def permitted(models: ChatModels, choice: str) -> Endpoint | None:
    """The default model where it may be asked, else the first that may; None for none."""
    asked = (each for each in models.describe() if not each.is_extractive and not each.key_problem)
    allowed = (each for each in asked if choice == "any" or (choice == "local" and each.is_local))
    return next((models.endpoint(each.name) for each in allowed), None)


def refine(
    database: Database,
    models: ChatModels,
    endpoint: Endpoint,
    clock: Callable[[], int],
    observation: Observation,
    since: int,
) -> Refined:
    """The observation in the model's words; the request is noted as showing the screens of its frames.

    Raises `ModelError`, also for an answer that is none; `StoreError` where nothing may be sent: after the
    tombstone `since` something was deleted, or the `endpoint` that is permitted has another address by now.
    """
    place, model = endpoint.base_url, models.get(endpoint.name)  # one that is replaced later sends nothing
    endpoint = models.find_out(endpoint.name)  # the room for the screen, and what the ledger names
    if endpoint.base_url != place:
        raise Outdated("the model was changed meanwhile")
    room = min(_MOST_CHARS, int(endpoint.context_tokens * _CHARS_PER_TOKEN / 2))
    shown = lines_of(database, observation.frame_ids, room)
    times = [captured_ms_of(frame_id) for frame_id in observation.frame_ids]
    messages = [Message("system", _INSTRUCTIONS), Message("user", prompt(observation, shown))]
    assert not isinstance(model, ExtractiveModel)  # it has no endpoint that is permitted
    return ask_once(
        (database, clock, endpoint),
        model,
        messages,
        lambda answer: checked_refinement(answer, shown),
        "refine",
        timeout_s=models.timeout_s,
        schema=SCHEMA,
        shows=(min([observation.start_ms, *times]), max([observation.end_ms, *times])),
        is_current=lambda connection: tombstones.newest(connection) == since,
    )


def lines_of(database: Database, frame_ids: Sequence[int], room: int) -> dict[int, list[str]]:
    """The lines of each frame that no earlier one had, as long as they fit into `room` characters: all that
    the model is shown, so that nothing else need be searched for what it says.
    """
    seen: set[str] = set()
    shown: dict[int, list[str]] = {}
    for number in sorted(frame_ids):
        reading = readings.current_reading(database, number)
        for line in reading.text.split("\n") if reading else ():
            if line.strip() and line not in seen and len(line) < room:
                seen.add(line)
                room -= len(line) + 1
                shown.setdefault(number, []).append(line)
    return shown


def prompt(observation: Observation, shown: Mapping[int, Sequence[str]]) -> str:
    """What the model is asked about an observation, whose frames have these lines."""
    blocks = ["\n".join((f"[frame {number}]", *lines)) for number, lines in shown.items()]
    # The screen cannot end its own quotation.
    screen = "\n".join(blocks).replace("</screen>", "</ screen>")
    head = f"App: {observation.app_name or 'unknown'}\nWindow: {observation.title}"
    return f"{head}\n<screen>\n{screen}\n</screen>"


def checked_refinement(answer: str, shown: Mapping[int, Sequence[str]]) -> Refined:
    """The parts of an answer that can be believed.

    Raises `ModelMalformed` where no sentence does, and where no line that is named stands on its frame.
    """
    document = object_in(answer)
    text = "\n".join(line for lines in shown.values() for line in lines)
    screen, words = Screen([text]), terms(text)
    clauses = _clauses(document.get("narrative"))
    writes_small = any(clause[0].islower() for clause in clauses)
    clauses = [each for each in clauses if is_told_of(each, words) and screen.bears_out(each, writes_small)]
    if not clauses:
        raise ModelMalformed("no sentence of the answer says what the screen shows")
    narrative = "; ".join(each.rstrip(".") for each in clauses) if writes_small else " ".join(clauses)
    named = document.get("facts")
    listed = named[: 4 * MAX_FACTS] if isinstance(named, list) else []
    words_of = cache(tokenizer.words)
    facts = [fact for item in listed if (fact := _fact_on_frame(item, shown, words_of))]
    if not facts:
        raise ModelMalformed("no line of the answer stands on its frame")
    return Refined(narrative[0].upper() + narrative[1:], tuple(dict.fromkeys(facts))[:MAX_FACTS])


def _clauses(narrative: object) -> list[str]:
    """What a model says was done, piece by piece, whether it was written as a list or as one text."""
    listed = narrative[:MAX_FACTS] if isinstance(narrative, list) else [narrative]
    lines = (_one_line(each, MAX_NARRATIVE_CHARS // len(listed)) for each in listed)
    return [clause for line in lines if line for clause in sentences_of(line)]


def _fact_on_frame(
    item: object, shown: Mapping[int, Sequence[str]], words_of: Callable[[str], list[str]]
) -> Fact | None:
    """The line of the frame that a fact names in which its words stand, else None.

    The line is kept, not what the model made of it: words are compared, and a sign is none.
    """
    if not isinstance(item, dict):
        return None
    frame_id, text = item.get("frame_id"), _one_line(item.get("text"), MAX_NARRATIVE_CHARS)
    if type(frame_id) is not int or len(text) < _MIN_FACT_CHARS or not (words := words_of(text)):
        return None
    lines = (line for line in shown.get(frame_id, ()) if tokenizer.stand_in(words, words_of(line)))
    # Of several the one that was copied, then the one that says least besides.
    found = min(
        (" ".join(line.split()) for line in lines), key=lambda line: (text not in line, len(line)), default=""
    )
    return Fact(found, frame_id) if 0 < len(found) <= MAX_NARRATIVE_CHARS else None


def _one_line(value: object, most: int) -> str:
    """One line of text; "" for what is no text. Lone surrogates cannot be stored."""
    if not isinstance(value, str):
        return ""
    return " ".join(value.encode("utf-8", "replace").decode().split())[:most]
