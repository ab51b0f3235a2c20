"""The worker: takes frames from the spool and makes them searchable. Safe to run twice."""
