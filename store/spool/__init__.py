"""The folder through which capture hands frames to ingest, and small files of state beside it."""
