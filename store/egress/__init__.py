"""What left this machine, who read through which door, and the providers."""
