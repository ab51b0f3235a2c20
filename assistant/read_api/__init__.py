"""Doors for other programs: read-only, ruled by today's exclusion rules, every call on record.

`webapp.integrations.mcp` and `webapp.integrations.screenpipe` are two shapes of the same
reading, and everything that
keeps it safe is here: `calls` loads the rules for one call and writes its audit
row, `reading` gives frames only past those rules. Knows neither Flask nor the protocol.
"""
