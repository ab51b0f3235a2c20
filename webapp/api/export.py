"""An answer with its evidence, as a file."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from flask import Response
from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from webapp.api.endpoint import endpoint
from webapp.api.values import Request
from webapp.exports.files import FORMATS, answer_file, export_pack
from webapp.exports.pack import Size

_NUMBERS = re.compile(r"([1-9][0-9]{0,2}(,[1-9][0-9]{0,2})*)?", re.ASCII)


def _numbers(text: Any) -> frozenset[int]:
    if not isinstance(text, str) or not _NUMBERS.fullmatch(text):
        raise PydanticCustomError("invalid_numbers", "must be numbers of sources, such as 1,3")
    return frozenset(int(part) for part in text.split(",") if part)


Numbers = Annotated[
    frozenset[int],
    PlainValidator(_numbers),
    WithJsonSchema({"type": "string", "pattern": f"^{_NUMBERS.pattern}$"}),
]


class ExportQuery(Request):
    files: Literal["0", "1"] = Field("0", description="Whether attached files come along in the zip.")
    fmt: Literal["md", "html", "zip"] = "zip"
    pictures: Numbers | None = Field(
        None,
        description="Sources whose pictures come along; all when missing, none when blank. A source "
        "without boxed words has no crop.",
    )
    full: Numbers = Field(
        default_factory=frozenset, description="Of these, sources with the whole screen instead of a crop."
    )


@endpoint(
    "GET",
    "/chats/<id:chat_id>/turns/<id:turn_id>/export",
    "An answer with its evidence",
    query=ExportQuery,
    answer=tuple(media_type.partition(";")[0] for media_type in FORMATS.values()),
    problems={404: "turn_not_found", 409: "turn_not_answered"},
)
def export(chat_id: int, turn_id: int, query: ExportQuery) -> Response:
    """Markdown, one HTML file without scripts, or a zip of both with `evidence.json`, pictures, hashes.

    Deleted frames, and windows that a privacy rule of today leaves out, are never in it.
    """

    def size_of(n: int) -> Size:
        if query.pictures is not None and n not in query.pictures:
            return "none"
        return "full" if n in query.full else "crop"

    return answer_file(export_pack(chat_id, turn_id, size_of, with_files=query.files == "1"), query.fmt)
