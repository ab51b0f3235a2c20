"""The pages, one module or package per noun; each declares its routes as it is imported."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from webapp.core.templating import blueprint as blueprint

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
