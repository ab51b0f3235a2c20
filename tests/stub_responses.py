"""The Responses protocol as the stub model speaks it: the same script, other shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Request = dict[str, Any]


def response(
    request: Request, text: str, calls: tuple[Mapping[str, Any], ...], response_id: str
) -> dict[str, Any]:
    """A finished response."""
    output: list[dict[str, Any]] = []
    if text or not calls:
        part = {"type": "output_text", "text": text, "annotations": []}
        output.append(
            {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
        )
    for call in calls:
        made = {
            "type": "function_call",
            "id": f"fc_{call['id']}",
            "call_id": call["id"],
            "status": "completed",
        }
        output.append({**made, **call["function"]})
    sent = len(json.dumps(request["input"])) + len(request.get("instructions") or "")
    return {
        "id": response_id,
        "object": "response",
        "created_at": 0,
        "model": request["model"],
        "status": "completed",
        "output": output,
        "usage": {
            "input_tokens": sent // 4,
            "output_tokens": len(text) // 4,
            "total_tokens": (sent + len(text)) // 4,
        },
    }


def stream(whole: dict[str, Any]) -> bytes:
    """The same as server-sent events."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode())
        for event in _events(whole)
    )


def _events(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "sequence_number": 0, "response": begun}
    for index, item in enumerate(whole["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}}
        place = {"item_id": item["id"], "output_index": index, "sequence_number": 1}
        if item["type"] == "message":
            text = item["content"][0]["text"]
            for at in range(0, len(text), 5):
                delta = {"content_index": 0, "delta": text[at : at + 5], "logprobs": []}
                yield {"type": "response.output_text.delta", **place, **delta}
        else:
            for at in range(0, len(item["arguments"]), 7):
                delta = {"delta": item["arguments"][at : at + 7]}
                yield {"type": "response.function_call_arguments.delta", **place, **delta}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "sequence_number": 9, "response": whole}
