"""The daemon that looks at the screen and writes the spool. It never opens the database."""
