"""What is uploaded: pictures stay in memory, files to import lie in the home folder while they are read.

Neither touches the system's temp folder. A file to import may be large, and another program reads it
(`webapp.core.importing`); it goes when its request ends, and what a crash leaves is swept with the spool.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import IO, Any

from htmx_flask.requests import HtmxAwareRequest

from webapp.core.services import services

MAX_IMPORT_BYTES = 512_000_000
IMPORT_PATHS = ("/api/v1/imports/", "/sources/")


class Request(HtmxAwareRequest):  # type: ignore[misc]  # htmx_flask is untyped
    """A request of our app; how much it may carry depends on where it goes."""

    def __init__(self, *arguments: Any, **values: Any) -> None:
        super().__init__(*arguments, **values)
        self._on_disk: list[Path] = []
        self.is_import = self.method == "POST" and self.path.startswith(IMPORT_PATHS)
        if self.is_import:
            self.max_content_length = MAX_IMPORT_BYTES

    def _get_file_stream(self, *sizes: Any, **details: Any) -> IO[bytes]:
        if not self.is_import:
            return io.BytesIO()
        folder = services().data_dir.spool / "tmp"
        file = tempfile.NamedTemporaryFile(dir=folder, prefix="import-", delete=False)  # noqa: SIM115
        self._on_disk.append(Path(file.name))
        return file

    def close(self) -> None:
        super().close()
        for path in self._on_disk:
            path.unlink(missing_ok=True)
