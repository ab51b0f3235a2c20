"""Whether index, rows, pictures and ledger say the same."""
