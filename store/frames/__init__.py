"""Frames, their pictures on disk, tags, pins, and the intervals that show one screen."""
