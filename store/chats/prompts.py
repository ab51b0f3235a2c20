"""System prompts by model: what a person always tells a model first, and every version of it.

A prompt belongs to the name that the model is chosen by, whether or not there is such a model now:
added again, it finds its prompt. An empty version means that the prompt was cleared. Saving the same
text again is no new version; what an editor saves by itself while somebody types goes into one version
for `DRAFT_MS`, so that the history lists intentions and not pauses.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from store.chats.versioned_texts import VersionTable
from store.core.database import Database, scalar
from store.core.errors import StoreError
from store.core.translation import gettext as _

MAX_CHARS = 8_000
MAX_ID_CHARS = 200
MAX_VERSIONS = 50
MAX_MODELS = 500
DRAFT_MS = 10 * 60_000

Author = Literal["person", "program"]


class PromptInvalid(StoreError):
    """A prompt cannot be kept: what is wrong with `field`."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field


class PromptChanged(StoreError):
    """It was changed elsewhere since it was read. `current` is what it is now."""

    def __init__(self, current: PromptVersion) -> None:
        super().__init__("the prompt was changed elsewhere")
        self.current = current


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """One version, counted from 1 for each model. `begun_ms` is when its text was first saved."""

    model_id: str
    version: int
    content: str
    sha256: str
    saved_by: Author
    is_draft: bool
    begun_ms: int
    saved_ms: int

    @property
    def edition(self) -> str:
        """Names this text in this version. The same text comes back, after a clearing above all, and the
        text of a draft changes while its version stays: neither alone tells whether somebody else wrote."""
        return f"{self.version}.{self.sha256}"


_VERSIONS = VersionTable("model_prompts", "model_id", PromptVersion)
current, versions, version = _VERSIONS.latest, _VERSIONS.all, _VERSIONS.get


def get_prompt(database: Database, model_id: str) -> str:
    """What the model is told first; '' for nothing."""
    found = current(database, model_id)
    return found.content if found else ""


def save(
    database: Database,
    model_id: str,
    content: str,
    now_ms: int,
    *,
    saved_by: Author,
    is_draft: bool = False,
    based_on: str | None = None,
) -> PromptVersion | None:
    """Keep a prompt; a blank one clears it. Returns the version in force, None where there never was one.

    `based_on` is the `edition` that the writer read, '' for none; None overwrites whatever is there.
    Raises `PromptInvalid`, and `PromptChanged` when it is another by now; nothing is kept then.
    """
    content = content if content.strip() else ""
    if content:
        _check(model_id, content)
    sha256 = sha256_of(content)
    with database.write() as connection:
        before = current(database, model_id)
        if before is not None and before.sha256 == sha256:
            return before
        if before is None and not content:
            return None
        if based_on is not None and before is not None and based_on != before.edition:
            raise PromptChanged(before)
        models = "select count(distinct model_id) from model_prompts"
        if before is None and scalar(connection, models) >= MAX_MODELS:
            raise PromptInvalid(
                "model_id", _("is one too many: %(number)s models have a prompt", number=MAX_MODELS)
            )
        goes_on = before is not None and is_draft and before.is_draft and before.saved_by == saved_by
        if before is not None and goes_on and now_ms - before.begun_ms < DRAFT_MS:
            number, begun_ms = before.version, before.begun_ms
        else:
            number, begun_ms = (before.version if before else 0) + 1, now_ms
        made = PromptVersion(model_id, number, content, sha256, saved_by, is_draft, begun_ms, now_ms)
        _VERSIONS.put(connection, made)
        sql = "delete from model_prompts where model_id = ? and version <= ?"
        connection.execute(sql, (model_id, number - MAX_VERSIONS))
    return made


def rename(database: Database, before: str, after: str) -> None:
    """Let a prompt follow its model to another name, unless that has one of its own."""
    with database.write() as connection:
        if current(database, after) is None:
            connection.execute("update model_prompts set model_id = ? where model_id = ?", (after, before))


def sha256_of(content: str) -> str:
    """Names a text, so that two can be told apart without it."""
    return hashlib.sha256(content.encode("utf-8")).hexdigest()


def _check(model_id: str, content: str) -> None:
    if not model_id or len(model_id) > MAX_ID_CHARS or not model_id.isprintable():
        raise PromptInvalid(
            "model_id", _("must be one line of at most %(number)s characters", number=MAX_ID_CHARS)
        )
    if len(content) > MAX_CHARS:
        raise PromptInvalid(
            "system_prompt",
            _("has %(number)s characters, %(most)s at most are kept", number=len(content), most=MAX_CHARS),
        )
    if "\0" in content:
        raise PromptInvalid("system_prompt", _("must not hold the character NUL"))
