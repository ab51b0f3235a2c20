"""Starting, watching and examining the programs."""
