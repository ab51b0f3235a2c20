"""A working week that never happened, drawn and then read like any other.

`story` says what each window shows, `days` when, `surfaces` and `drawing` make pictures of it with
Pillow, and `generator` hands them to the spool as capture would have. The same seed, last day and
zone give the same week; its people are roles.
"""
