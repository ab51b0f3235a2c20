"""The web process and the `recollect` command.

Pages for people and a JSON API for programs, over the same functions of `store` and
`assistant`. `create_app` is imported when it is asked for, so that `recollect --help`
need not wait for Flask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webapp.serving.app import create_app

__all__ = ["create_app"]


def __getattr__(name: str) -> Any:
    if name == "create_app":
        from webapp.serving.app import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
