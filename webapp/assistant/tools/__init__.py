"""The tools a model may call, one module a subject; `webapp.assistant.tool` says what a tool is."""
