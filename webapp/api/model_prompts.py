"""System prompts by model: what each model is always told first."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from store.chats import prompts
from store.chats.prompts import Author, PromptInvalid, PromptVersion
from store.core.times import to_seconds
from webapp.api.endpoint import endpoint, invalid
from webapp.api.values import Answer, Request
from webapp.core.errors import FieldError
from webapp.core.services import services

PATH = "/models/<model:model_id>/system-prompt"
NO_NAME = {404: "not_found"}


class SystemPromptBody(Request):
    system_prompt: Annotated[str, StringConstraints(max_length=prompts.MAX_CHARS)] = Field(
        description="Sent word for word, before everything else; blank clears it."
    )


class SystemPromptAnswer(Answer):
    """`system_prompt` is null for a model without one, known or not."""

    model_id: str
    system_prompt: str | None


class PromptVersionAnswer(Answer):
    version: int
    system_prompt: str | None = Field(description="Null where it was cleared.")
    sha256: str
    saved_by: Author
    saved_at: float


class PromptVersionsAnswer(Answer):
    data: list[PromptVersionAnswer]


@endpoint("GET", PATH, "What a model is told first", answer=SystemPromptAnswer, problems=NO_NAME)
def get(model_id: str) -> SystemPromptAnswer:
    """A model is named as in GET /models; slashes and colons may stand as they are."""
    return _answer(model_id, prompts.get_prompt(services().database, model_id))


@endpoint(
    "PUT",
    PATH,
    "Set what a model is told first",
    body=SystemPromptBody,
    answer=SystemPromptAnswer,
    problems={**NO_NAME, 422: "invalid_system_prompt, invalid_model_id"},
)
def put(model_id: str, body: SystemPromptBody) -> SystemPromptAnswer:
    """It holds from the next turn on, for a model of this name whether or not there is one now."""
    return _save(model_id, body.system_prompt)


@endpoint("DELETE", PATH, "Clear what a model is told first", answer=SystemPromptAnswer, problems=NO_NAME)
def delete(model_id: str) -> SystemPromptAnswer:
    """Earlier versions stay in its history."""
    return _save(model_id, "")


@endpoint(
    "GET",
    f"{PATH}/versions",
    "All prompts of a model",
    answer=PromptVersionsAnswer,
    problems=NO_NAME,
)
def prompt_versions(model_id: str) -> PromptVersionsAnswer:
    """The newest first; the first one is in force."""
    found = prompts.versions(services().database, model_id)
    return PromptVersionsAnswer(data=[_version(each) for each in found])


def _save(model_id: str, content: str) -> SystemPromptAnswer:
    own = services()
    try:
        kept = prompts.save(own.database, model_id, content, own.clock(), saved_by="program")
    except PromptInvalid as error:
        raise invalid(422, f"invalid_{error.field}", [FieldError(error.field, str(error))]) from error
    return _answer(model_id, kept.content if kept else "")


def _answer(model_id: str, content: str) -> SystemPromptAnswer:
    return SystemPromptAnswer(model_id=model_id, system_prompt=content or None)


def _version(each: PromptVersion) -> PromptVersionAnswer:
    return PromptVersionAnswer(
        version=each.version,
        system_prompt=each.content or None,
        sha256=each.sha256,
        saved_by=each.saved_by,
        saved_at=to_seconds(each.saved_ms),
    )
