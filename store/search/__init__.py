"""Finding frames: query language, words, meaning, ranking, snippets and facets."""
