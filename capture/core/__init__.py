"""The clock, errors and rectangles that every part of capture shares."""
