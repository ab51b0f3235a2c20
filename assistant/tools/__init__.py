"""The tools a model may call, one module a subject; `assistant.tools.tool` says what a tool is."""
