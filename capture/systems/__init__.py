"""Screens, windows and presence of the systems beside X11, a module each."""
