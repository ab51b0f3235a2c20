"""The text that was read from frames, and the queue of frames that wait for reading."""
