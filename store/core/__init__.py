"""What the rest of the store stands on: database, schema, settings, paths, times and errors."""
