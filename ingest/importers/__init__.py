"""Videos, pictures and exported files, handed in like captured frames or as records."""
