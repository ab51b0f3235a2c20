"""Evaluations: known questions asked again, with and without context."""
