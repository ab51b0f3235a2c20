"""From frames to memory: observations, sessions, summaries of hours and days."""
