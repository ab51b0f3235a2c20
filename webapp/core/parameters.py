"""Ids in addresses: ``<id:frame_id>``, ``<model:model_id>``, ``<day:on>``."""

from __future__ import annotations

from datetime import date

from werkzeug.routing import BaseConverter, ValidationError


class IdConverter(BaseConverter):
    """A whole number in its one canonical spelling: ``+7``, ``007``, ``7.0`` and ``..`` are no ids."""

    regex = r"(?:0|[1-9][0-9]{0,17})"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(int(value))


class DayConverter(BaseConverter):
    """A date, ``2026-11-20``; one that no calendar has leads nowhere."""

    regex = r"(?:19[7-9][0-9]|[2-8][0-9]{3})-[0-9]{2}-[0-9]{2}"

    def to_python(self, value: str) -> date:
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise ValidationError from error

    def to_url(self, value: date | str) -> str:
        return str(value)


class ModelConverter(BaseConverter):
    """The name of a model: one line of at most 200 characters, slashes and colons among them."""

    part_isolating = False
    regex = r"[^/\x00-\x1f\x7f][^\x00-\x1f\x7f]{0,199}"
