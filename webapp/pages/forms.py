"""Forms that do what an endpoint of the API does, and then lead to a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

from flask import request
from pydantic import ValidationError
from werkzeug.wrappers import Response

from webapp.api.endpoint import of_validation
from webapp.core import templating


def form(path: str, action: Callable[..., Any], then: str) -> None:
    """Let a POST to `path` do what `action` does, a function of the API with the same values in its path.

    The fields of the form are those of its body. Then the browser goes to the page that the form names as
    ``next``, or else to `then`, in which the values of the path and the `answer` have their places.
    """
    body = get_type_hints(action).get("body")

    def view(**values: Any) -> Response:
        place = dict(values)
        if body is not None:
            given = {name: request.form[name] for name in body.model_fields if name in request.form}
            try:
                values["body"] = body.model_validate(given)
            except ValidationError as error:
                raise of_validation(error, body=True) from error
        return templating.redirect_back(then.format(**place, answer=action(**values)))

    view.__name__ = f"{action.__module__}_{action.__name__}".replace(".", "_")
    templating.post(path)(view)
