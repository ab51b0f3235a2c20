"""From a spool entry to a stored frame."""
