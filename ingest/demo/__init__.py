"""A working week that never happened, drawn and then read like any other.

`story` says what each window shows, `days` when, `drawing` and `surfaces` make pictures of it with
Pillow, `captures` turns them into what capture would have put into the spool, and `making` lets
the worker take it in. The same seed, last day and zone give the same week; its people are roles.
"""
