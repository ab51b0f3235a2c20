"""An afternoon, a stub model and turns over both, as in `tests/assistant`."""

from tests.assistant.conftest import afternoon, ask, deps

__all__ = ["afternoon", "ask", "deps"]
