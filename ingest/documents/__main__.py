"""python -m ingest.documents NAME: what is in the file on its input, as one line of JSON.

Ends with 1 and a sentence for a file that cannot be attached, 3 for one of another kind.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from dataclasses import asdict

from ingest.documents import result
from ingest.documents.extraction import extract
from ingest.documents.result import CannotRead, Unsupported
from store.core.translation import N_

REFUSED, UNSUPPORTED = 1, 3


def main(name: str) -> int:
    logging.basicConfig(level=logging.WARNING)
    result.apply_limits()
    try:
        extraction = extract(sys.stdin.buffer.read(), name)
    except Unsupported as error:
        return _end(UNSUPPORTED, str(error))
    except CannotRead as error:
        return _end(REFUSED, str(error))
    except (MemoryError, RecursionError):
        return _end(REFUSED, N_("reading it takes more memory than one file may"))
    except Exception:  # the file is hostile until it was read: what breaks on it is its damage
        traceback.print_exc()
        return _end(REFUSED, N_("it is damaged"))
    print(json.dumps(asdict(extraction)))  # noqa: T201
    return 0


def _end(code: int, sentence: str) -> int:
    print(f"documents: {sentence}", file=sys.stderr)  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
