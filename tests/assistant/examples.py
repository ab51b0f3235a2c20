"""The examples that tool descriptions give, as a model would copy them."""

from __future__ import annotations

import json
from typing import Any

from assistant.tools.registry import registry
from assistant.tools.tool import Tool
from store.core.settings import ToolsSettings


def examples_of(each: Tool) -> list[dict[str, Any]]:
    """Every JSON object behind the word "Examples" of a description."""
    _, _, rest = each.description.partition("Examples: ")
    found, decoder = [], json.JSONDecoder()
    while rest:
        example, end = decoder.raw_decode(rest)
        found.append(example)
        rest = rest[end:].removeprefix(";").strip()
    return found


EXAMPLES = [
    (each.name, example) for each in registry(ToolsSettings()).values() for example in examples_of(each)
]
