"""Personas as a JSON file, to be kept or given to somebody: what they say, and nothing of where they were.

    {"recollect_personas": 1, "personas": [{"name": …, "description": …, "system_prompt": …}]}

``recollect_personas`` is the version of the format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from store.chats.personas import MAX_PERSONAS, PersonaInvalid, PersonaText

FORMAT = 1
MAX_BYTES = 1_000_000


class _Persona(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str
    system_prompt: str
    description: str = ""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    recollect_personas: int
    personas: list[_Persona] = Field(max_length=MAX_PERSONAS)


def dump_personas(personas: Iterable[PersonaText]) -> str:
    """The file of some personas, to be read by people too."""
    listed = [
        {"name": each.name, "description": each.description, "system_prompt": each.system_prompt}
        for each in personas
    ]
    return json.dumps({"recollect_personas": FORMAT, "personas": listed}, ensure_ascii=False, indent=2) + "\n"


def load_personas(data: bytes) -> list[PersonaText]:
    """The personas of a file. Raises `PersonaInvalid` with what is wrong with it."""
    if len(data) > MAX_BYTES:
        raise PersonaInvalid([("file", f"is larger than {MAX_BYTES:,} bytes")])
    try:
        found = _File.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        told = f"{where}: {first['msg']}" if where else first["msg"]
        raise PersonaInvalid([("file", f"is no file of personas ({told})")]) from None
    if found.recollect_personas != FORMAT:
        raise PersonaInvalid([("file", f"is of a later format ({found.recollect_personas})")])
    return [PersonaText(each.name, each.system_prompt, each.description) for each in found.personas]
