"""``python -m webapp`` is the `recollect` command."""

from webapp.cli import main

main()
