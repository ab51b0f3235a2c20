"""OCR engines behind one protocol; all give words with boxes in reading order."""
