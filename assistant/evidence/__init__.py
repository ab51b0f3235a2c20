"""Citations, quotes and claims of an answer, held against the stored text of their frames."""
