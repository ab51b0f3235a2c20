"""The pages of the timeline."""
