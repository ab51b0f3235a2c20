"""One question, one answer: the sequence of a turn and its parts."""
