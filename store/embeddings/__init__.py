"""Vectors of texts, their index in memory, and the nearest neighbours of a question."""
