"""The one SQLite database of a home folder and the files beside it.

Everything durable goes through this package: settings, paths, schema, migrations, the spool
between the programs, the pixels, and every query. It knows no models and no HTTP, and it
imports nothing else of Recollect.
"""

from __future__ import annotations

import sys
from pathlib import Path

ENCRYPTING_SQLITE = Path(sys.prefix, "recollect-sqlite3mc")
"""Where `make encryption` puts the build of apsw whose SQLite encrypts. Both builds are called ``apsw`` and
cannot lie in one folder. Where this one is there, every process takes it for every home.
"""
if ENCRYPTING_SQLITE.is_dir():
    sys.path.insert(0, str(ENCRYPTING_SQLITE))
