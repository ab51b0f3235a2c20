"""The pages of models and prompts."""
