"""The models that can be asked. No answer ever holds a key."""

from __future__ import annotations

from pydantic import Field

from engines.chat.protocol import Abilities
from webapp.api.endpoint import endpoint
from webapp.api.values import Answer, Listing
from webapp.core.services import services


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
