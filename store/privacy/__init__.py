"""What may be recorded: rules over apps, windows and addresses; which windows are private."""
