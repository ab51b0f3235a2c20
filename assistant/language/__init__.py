"""Times, figures and statements in a text."""
