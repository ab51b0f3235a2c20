"""The assistant: from a question to an answer with its evidence. It never imports flask."""
