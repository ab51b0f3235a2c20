"""What other programs and the tools of a chat may read: ruled by the exclusion rules of today, and on record.

`webapp.integrations.mcp` and `webapp.integrations.screenpipe` are two shapes of the same reading, and what
keeps it safe is here: `calls` loads the rules for one call, writes its audit row, and gives frames only past
those rules. Knows neither Flask nor the protocol.
"""
