"""Days: one journal page per day, made again, and exported."""
