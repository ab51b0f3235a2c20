"""Ids in addresses: ``<id:frame_id>``, ``<model:model_id>``."""

from __future__ import annotations

from werkzeug.routing import BaseConverter


class IdConverter(BaseConverter):
    """A whole number in its one canonical spelling: ``+7``, ``007``, ``7.0`` and ``..`` are no ids."""

    regex = r"(?:0|[1-9][0-9]{0,17})"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(int(value))


class ModelConverter(BaseConverter):
    """The name of a model: one line of at most 200 characters, slashes and colons among them."""

    part_isolating = False
    regex = r"[^/\x00-\x1f\x7f][^\x00-\x1f\x7f]{0,199}"
