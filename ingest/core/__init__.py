"""The home of a running worker, its counters, and the checks that every picture passes."""
