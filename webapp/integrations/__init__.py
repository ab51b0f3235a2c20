"""Doors for other programs: MCP, and the API of screenpipe."""
