"""Deleting for real: what goes, what else shows it, in which order, and the receipt."""
