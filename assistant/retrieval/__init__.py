"""Which frames and lines a question is answered from."""
