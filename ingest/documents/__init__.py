"""Text of a file that somebody attached to a question: a program of its own, that may be killed.

``python -m ingest.documents NAME`` reads one file from its input and prints what is in it as one line of
JSON. A file is hostile until it was read: what it may take of memory, time and text is bounded
(`result.apply_limits`), it is read by nobody else, and whoever started the program waits no longer than that.
"""
