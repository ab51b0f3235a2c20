"""Which windows are visible and what is known of them, a module per platform."""
