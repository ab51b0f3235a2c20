"""From a stored frame to searchable text: OCR of what changed, addresses, chunks, vectors."""
