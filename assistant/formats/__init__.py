"""Tool calls in the formats that models write: native and three in text."""
