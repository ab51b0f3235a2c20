"""The one SQLite database of a home folder and the files beside it.

Everything durable goes through this package: settings, paths, schema, migrations, the spool
between the programs, the pixels, and every query. It knows no models and no HTTP, and it
imports nothing else of Recollect.
"""
