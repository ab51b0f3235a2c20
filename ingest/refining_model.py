"""Which chat model may put observations into better words: none that was not named."""

from __future__ import annotations

import os
from collections.abc import Mapping

from engines.addresses import is_local
from engines.chat import ChatModel
from engines.chat_openai import OpenAIChatModel
from store.errors import SettingsError
from store.settings import ChatModelSettings, ChatSettings

_CHOICES = ("local", "any", "off")


def refining_model(
    chat: ChatSettings, refine: str, environ: Mapping[str, str] = os.environ
) -> ChatModel | None:
    """The first configured model that `refine` permits, None where there is none.

    ``local`` permits a model on this machine, because nobody is asked before each job and screen
    text must not leave in the background unless that was chosen by name. Raises `SettingsError`
    for a choice that does not exist.
    """
    if refine not in _CHOICES:
        raise SettingsError(f"memory.refine must be one of {', '.join(_CHOICES)}, not {refine!r}")
    entries = list(chat.models)
    if chat.model and chat.base_url:
        default = ChatModelSettings(
            base_url=chat.base_url, model=chat.model, api_key=chat.api_key, context_tokens=chat.context_tokens
        )
        entries.insert(0, default)
    for entry in entries:
        if refine == "any" or (refine == "local" and is_local(entry.base_url)):
            key = entry.api_key or environ.get(entry.api_key_env, "")
            return OpenAIChatModel(
                entry.name or entry.model,
                entry.base_url,
                entry.model,
                key,
                context_tokens=entry.context_tokens,
            )
    return None
