"""An answer with its evidence, to take along: Markdown, a page without scripts, a bundle with hashes."""
