"""Personas: who speaks, and every version of what they said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from store.chats import personas, prompts
from store.chats.personas import MAX_NAME_CHARS, MAX_PROMPT_CHARS, Persona, PersonaInvalid, PersonaText
from store.chats.prompts import Author, PromptInvalid, PromptVersion
from store.core.times import to_seconds
from webapp.api.endpoint import endpoint, invalid
from webapp.api.values import Answer, Request
from webapp.core.services import services

NOT_FOUND = {404: "persona_not_found"}


class PersonaBody(Request):
    """What a person writes of a persona. Its prompt should say voice, shape and length."""

    name: str = Field(description=f"Unique; at most {MAX_NAME_CHARS} characters.")
    system_prompt: str = Field(description=f"At most {MAX_PROMPT_CHARS} characters; sent verbatim.")
    description: str = ""


class PersonaAnswer(Answer):
    id: int
    name: str
    system_prompt: str
    description: str
    builtin: bool
    active: bool
    version: int
    archived: bool
    turns: int = Field(description="How many turns spoke with it.")
    updated_at: float


class PersonasAnswer(Answer):
    data: list[PersonaAnswer]


class VersionAnswer(Answer):
    version: int
    name: str
    description: str
    system_prompt: str
    saved_at: float


class VersionsAnswer(Answer):
    data: list[VersionAnswer]


@endpoint("GET", "/personas", "Personas")
def all_personas() -> PersonasAnswer:
    """Those that can be chosen, the built-in ones first; archived ones are found by id."""
    database = services().database
    return PersonasAnswer(data=[_answer(each) for each in personas.list_personas(database)])


@endpoint("POST", "/personas", "Add a persona", {422: "invalid_persona"}, status=201)
def add(body: PersonaBody) -> tuple[PersonaAnswer, int]:
    """It speaks once it is activated or named by a turn."""
    own = services()
    return _kept(lambda: personas.create(own.database, _words(body), own.clock())), 201


@endpoint("GET", "/personas/<id:persona_id>", "One persona", NOT_FOUND)
def one(persona_id: int) -> PersonaAnswer:
    """Archived ones too: old turns name them."""
    return _answer(personas.get(services().database, persona_id))


@endpoint("PUT", "/personas/<id:persona_id>", "Change a persona", {**NOT_FOUND, 422: "invalid_persona"})
def change(persona_id: int, body: PersonaBody) -> PersonaAnswer:
    """Makes a new version. What turns said before stays as it is (R0.45)."""
    own = services()
    return _kept(lambda: personas.update_persona(own.database, persona_id, _words(body), own.clock()))


class RemovedPersona(Answer):
    id: int
    deleted: Literal[True] = True
    archived: bool = Field(description="Whether it is still readable, because turns name it.")


@endpoint("DELETE", "/personas/<id:persona_id>", "Remove a persona", {**NOT_FOUND, 409: "builtin_persona"})
def remove(persona_id: int) -> RemovedPersona:
    """One that turns name is archived; a built-in one can only be reset."""
    own = services()
    gone = personas.remove(own.database, persona_id, own.clock())
    return RemovedPersona(id=persona_id, archived=not gone)


@endpoint("POST", "/personas/<id:persona_id>/activate", "Let a persona speak", NOT_FOUND)
def activate(persona_id: int) -> PersonaAnswer:
    """From the next turn on that names no other."""
    database = services().database
    personas.activate(database, persona_id)
    return _answer(personas.get(database, persona_id))


@endpoint(
    "POST",
    "/personas/<id:persona_id>/duplicate",
    "Copy a persona",
    {**NOT_FOUND, 422: "invalid_persona"},
    status=201,
)
def duplicate(persona_id: int) -> tuple[PersonaAnswer, int]:
    """A persona of one's own that says the same."""
    own = services()
    return _kept(lambda: personas.duplicate(own.database, persona_id, own.clock())), 201


@endpoint(
    "POST",
    "/personas/<id:persona_id>/reset",
    "Reset a built-in persona",
    {**NOT_FOUND, 409: "builtin_persona", 422: "invalid_persona"},
)
def reset(persona_id: int) -> PersonaAnswer:
    """It says again what it came with; its versions stay."""
    own = services()
    return _kept(lambda: personas.reset(own.database, persona_id, own.clock()))


@endpoint("GET", "/personas/<id:persona_id>/versions", "What a persona said before", NOT_FOUND)
def versions(persona_id: int) -> VersionsAnswer:
    """The newest first; turns name persona and version."""
    database = services().database
    found = personas.versions(database, personas.get(database, persona_id).id)
    return VersionsAnswer(
        data=[
            VersionAnswer(
                version=each.version,
                name=each.name,
                description=each.description,
                system_prompt=each.system_prompt,
                saved_at=to_seconds(each.saved_ms),
            )
            for each in found
        ]
    )


# -- support ------------------------------------------------------------------------------


def _words(body: PersonaBody) -> PersonaText:
    return PersonaText(body.name, body.system_prompt, body.description)


def _kept(write: Callable[[], Persona]) -> PersonaAnswer:
    """What was written, or 422 with what is wrong with it."""
    try:
        return _answer(write())
    except PersonaInvalid as error:
        raise invalid(422, "invalid_persona", *error.errors) from error


def _answer(persona: Persona) -> PersonaAnswer:
    active = personas.active(services().database)
    return PersonaAnswer(
        id=persona.id,
        name=persona.name,
        system_prompt=persona.system_prompt,
        description=persona.description,
        builtin=persona.builtin is not None,
        active=active is not None and active.id == persona.id,
        version=persona.version,
        archived=persona.archived_ms is not None,
        turns=persona.turns,
        updated_at=to_seconds(persona.updated_ms),
    )


# ---- model prompts
# System prompts by model: what each model is always told first.

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


@endpoint("GET", PATH, "What a model is told first", NO_NAME)
def get(model_id: str) -> SystemPromptAnswer:
    """A model is named as in GET /models; slashes and colons may stand as they are."""
    return _model_prompts_answer(model_id, prompts.get_prompt(services().database, model_id))


@endpoint(
    "PUT", PATH, "Set what a model is told first", {**NO_NAME, 422: "invalid_system_prompt, invalid_model_id"}
)
def put(model_id: str, body: SystemPromptBody) -> SystemPromptAnswer:
    """It holds from the next turn on, for a model of this name whether or not there is one now."""
    return _save(model_id, body.system_prompt)


@endpoint("DELETE", PATH, "Clear what a model is told first", NO_NAME)
def delete(model_id: str) -> SystemPromptAnswer:
    """Earlier versions stay in its history."""
    return _save(model_id, "")


@endpoint("GET", f"{PATH}/versions", "All prompts of a model", NO_NAME)
def prompt_versions(model_id: str) -> PromptVersionsAnswer:
    """The newest first; the first one is in force."""
    found = prompts.versions(services().database, model_id)
    return PromptVersionsAnswer(data=[_version(each) for each in found])


def _save(model_id: str, content: str) -> SystemPromptAnswer:
    own = services()
    try:
        kept = prompts.save(own.database, model_id, content, own.clock(), saved_by="program")
    except PromptInvalid as error:
        raise invalid(422, f"invalid_{error.field}", (error.field, str(error))) from error
    return _model_prompts_answer(model_id, kept.content if kept else "")


def _model_prompts_answer(model_id: str, content: str) -> SystemPromptAnswer:
    return SystemPromptAnswer(model_id=model_id, system_prompt=content or None)


def _version(each: PromptVersion) -> PromptVersionAnswer:
    return PromptVersionAnswer(
        version=each.version,
        system_prompt=each.content or None,
        sha256=each.sha256,
        saved_by=each.saved_by,
        saved_at=to_seconds(each.saved_ms),
    )
