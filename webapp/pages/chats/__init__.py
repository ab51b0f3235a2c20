"""The pages of a chat."""
