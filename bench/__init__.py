"""Measurements (`make bench`) and evaluations. Not part of the installed program."""
