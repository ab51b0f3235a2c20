"""Who speaks: personas with every version of what they said, models, and what each is told first."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from engines.chat.protocol import Abilities
from store.chats import personas, prompts
from store.chats.personas import MAX_NAME_CHARS, MAX_PROMPT_CHARS, Persona, PersonaText
from webapp.api.endpoint import endpoint
from webapp.api.values import Answer, DeletedAnswer, IsSet, Listing, Request, Timestamp
from webapp.core.services import services

PERSONA = "/personas/<id:persona_id>"


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
    builtin: IsSet
    active: bool
    version: int
    archived: IsSet = Field(validation_alias="archived_ms")
    turns: int = Field(description="How many turns spoke with it.")
    updated_at: Timestamp


@endpoint("GET", "/personas", "Personas")
def all_personas() -> Listing[PersonaAnswer]:
    """Those that can be chosen, the built-in ones first; archived ones are found by id."""
    database = services().database
    return Listing(data=[_answer(persona) for persona in personas.list_personas(database)])


@endpoint("POST", "/personas", "Add a persona", {422: "invalid_persona"}, status=201)
def add(body: PersonaBody) -> PersonaAnswer:
    """It speaks once it is activated or named by a turn."""
    return _answer(personas.create(services().database, PersonaText(**body.model_dump()), services().clock()))


@endpoint("GET", PERSONA, "One persona")
def one(persona_id: int) -> PersonaAnswer:
    """Archived ones too: old turns name them."""
    return _answer(personas.get(services().database, persona_id))


@endpoint("PUT", PERSONA, "Change a persona", {422: "invalid_persona"})
def change(persona_id: int, body: PersonaBody) -> PersonaAnswer:
    """Makes a new version. What turns said before stays as it is."""
    return _answer(
        personas.update_persona(
            services().database, persona_id, PersonaText(**body.model_dump()), services().clock()
        )
    )


class RemovedPersona(DeletedAnswer):
    archived: bool = Field(description="Whether it is still readable, because turns name it.")


@endpoint("DELETE", PERSONA, "Remove a persona", {409: "builtin_persona"})
def remove(persona_id: int) -> RemovedPersona:
    """One that turns name is archived; a built-in one can only be reset."""
    is_gone = personas.remove(services().database, persona_id, services().clock())
    return RemovedPersona(id=persona_id, archived=not is_gone)


@endpoint("POST", f"{PERSONA}/activate", "Let a persona speak")
def activate(persona_id: int) -> PersonaAnswer:
    """From the next turn on that names no other."""
    personas.activate(services().database, persona_id)
    return one(persona_id)


def _answer(persona: Persona) -> PersonaAnswer:
    active = personas.active(services().database)
    return PersonaAnswer.of(persona, active=active is not None and active.id == persona.id)


# -- system prompts by model: what each is always told first ------------------------------------

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


@endpoint("GET", PATH, "What a model is told first", NO_NAME)
def get(model_id: str) -> SystemPromptAnswer:
    """A model is named as in GET /models; slashes and colons may stand as they are."""
    content = prompts.get_prompt(services().database, model_id)
    return SystemPromptAnswer(model_id=model_id, system_prompt=content or None)


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


def _save(model_id: str, content: str) -> SystemPromptAnswer:
    saved = prompts.save(services().database, model_id, content, services().clock(), saved_by="program")
    return SystemPromptAnswer(model_id=model_id, system_prompt=saved.content or None if saved else None)


# -- the models that can be asked; no answer ever holds a key -----------------------------------


class ModelAnswer(Answer):
    """A model that can be asked. Its key is never shown, only whether there is one."""

    name: str
    model: str
    base_url: str
    local: bool = Field(description="Its endpoint is on this machine, so nothing is sent out.")
    has_key: bool
    context_tokens: int
    is_default: bool
    host: str = Field(description="Whom text is sent to; empty for `extractive`.")
    supports_vision: bool
    supports_tools: bool
    supports_json_schema: bool
    tool_format: str
    chosen: Abilities = Field(description="What was set; it overrules what was found out.")
    found: Abilities = Field(description="What was found out so far.")


@endpoint("GET", "/models", "Models that can be asked")
def models() -> Listing[ModelAnswer]:
    """`extractive` is built in: it quotes the screen and needs no endpoint."""
    return Listing(data=ModelAnswer.list_of(services().chat_models.describe()))
