"""What the editor of a model's system prompt draws."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.core.endpoints import Endpoint
from assistant.core.texts import estimate_tokens
from store.chats import personas, prompts
from store.chats.prompts import MAX_CHARS, PromptVersion
from webapp.core.services import Services

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
