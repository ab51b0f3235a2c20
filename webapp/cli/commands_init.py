"""The commands of `recollect`, a module per kind.

What a command works with is imported inside it: listing the commands must not load Flask,
SQLite or an engine.
"""
