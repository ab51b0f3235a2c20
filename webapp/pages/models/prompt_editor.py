"""What the editor of a model's system prompt draws, with texts to begin with."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.core.endpoints import Endpoint
from assistant.core.texts import estimate_tokens
from store.chats import personas, prompts
from store.chats.prompts import MAX_CHARS, PromptVersion
from store.core.translation import N_
from webapp.core.services import Services


@dataclass(frozen=True, slots=True)
class Preset:
    key: str
    name: str
    text: str


# They say how to write and never who the model is: that is the persona's.
PRESETS = (
    Preset(
        "plain",
        N_("Short and plain"),
        N_(
            "Say the result in the first sentence, in plain words. Then give at most three bullets with what "
            "shows it. Leave out introductions, repetitions of the question and offers to help."
        ),
    ),
    Preset(
        "log",
        N_("Work log"),
        N_(
            "Write as a log of work, in the order of time. Begin each bullet with the local time, then the "
            "app or project, then what was done there: changed, decided, read or sent. End with what was "
            "still open."
        ),
    ),
    Preset(
        "exact",
        N_("To the letter"),
        N_(
            "Copy names, figures, dates and error messages exactly as they stand in the source; round and "
            "translate nothing. Where sources disagree, give each and say which is later. Where none "
            "answers, say only that."
        ),
    ),
    Preset(
        "small",
        N_("For small models"),
        N_(
            "Work in three steps, and write down only the last one. 1. Find the sources that answer the "
            "question. 2. Copy the words that prove the answer. 3. Write the answer from those words alone, "
            "in short sentences, one fact in each, with its citation behind it."
        ),
    ),
    Preset("no_think", N_("Qwen3: answer without thinking aloud"), "/no_think"),
)
BY_KEY = {preset.key: preset for preset in PRESETS}


LARGE_SHARE = 0.25
"""From this part of a model's window on the editor says how much of it the prompt takes."""


@dataclass(frozen=True, slots=True)
class PromptEditor:
    """What `models/_prompt.html` draws.

    `text` is what stands in the field, saved or not; `base` names the edition it was read from. `problem`
    says why it was not saved, `theirs` is what was saved elsewhere meanwhile. `undo` is the version before a
    change that was made with one press.
    """

    info: Endpoint
    names: tuple[str, ...]
    text: str
    base: str
    current: PromptVersion | None
    versions: int
    problem: str = ""
    theirs: PromptVersion | None = None
    undo: int | None = None
    persona: str = ""
    """Who speaks beside it in new chats; '' for nobody."""
    presets: tuple[Preset, ...] = PRESETS
    limit: int = MAX_CHARS

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text)

    @property
    def is_large(self) -> bool:
        """Whether it takes much of what the model can read at once."""
        return self.tokens > LARGE_SHARE * self.info.context_tokens


def editor(own: Services, name: str = "", undo: int | None = None) -> PromptEditor | None:
    """The editor for a model, by default the one that answers; None where no model takes a prompt."""
    infos = {info.name: info for info in own.chat_models.listed() if not info.is_extractive}
    info = infos.get(name) or infos.get(own.chat_models.default) or next(iter(infos.values()), None)
    if info is None:
        return None
    versions = prompts.versions(own.database, info.name)
    current = versions[0] if versions else None
    speaker = personas.active(own.database)
    return PromptEditor(
        info=info,
        names=tuple(infos),
        text=current.content if current else "",
        base=current.edition if current else "",
        current=current,
        versions=len(versions),
        undo=undo if undo in {version.version for version in versions[1:]} else None,
        persona=speaker.name if speaker else "",
    )
