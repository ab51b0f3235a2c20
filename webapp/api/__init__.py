"""The JSON API, one module per noun; each declares its endpoints as it is imported."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from webapp.api.endpoint import blueprint as blueprint

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
