"""Models behind small protocols: OCR, embeddings, chat. They know no tables."""
