"""Text from outside, made unable to imitate a tool call or a place in the conversation.

What stands on a screen, in a message, in a file or on a web page may look like the markup of a call,
or like the tokens by which a model's template tells who speaks. A server that writes the prompt into
one text may read them as such. Only the copy in a prompt is changed; what is stored and quoted stays
as it is.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"<[|｜][\w .:/▁-]{1,64}[|｜]>")
"""``<|im_start|>``, and DeepSeek's with wide bars."""

_TAG = re.compile(
    r"<(?=/?function_calls?\b|/?function=|/function>|/?invoke\b"
    r"|/?parameter\b|/?tools?\b|/?tool_(?:calls?|results?|response|outputs?)\b"  # XML of several models
    r"|/?(?:start|end)_of_turn>|/?s>|</?SYS>|/?think(?:ing)?>)",  # turns of Gemma and Llama 2, thoughts
    re.IGNORECASE,
)
_BRACKET = re.compile(
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\])"
)
"""Mistral's and Llama 2's."""

_ACTION = re.compile(r"Action:(?=\s*```)")
"""Command-R's fence is a call behind this word only."""


def neutralized(text: str) -> str:
    """`text` without control tokens, and with other markup broken: ``&lt;``, ``[ INST]``, ``Action```.

    Taking a token out can bring another together, so it is repeated until nothing changes.
    """
    while (without := _TOKEN.sub("", text)) != text:
        text = without
    return _ACTION.sub("Action", _BRACKET.sub("[ ", _TAG.sub("&lt;", text)))
