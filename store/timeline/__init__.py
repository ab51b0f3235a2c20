"""Time as it was spent: segments, gaps, idle stretches, totals, the ledger of looks."""
