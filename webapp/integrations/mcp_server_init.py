"""`recollect mcp`: the Model Context Protocol over the same store, read-only.

Tools are plain functions whose first parameter is the `assistant.read_api.calls.ReadCall` they read
through; `server` turns them into tools of the official SDK, with schemas made from their
signatures. They open the home's database by themselves, so the pages need not run.

Nothing here is imported by the web process: the SDK takes half a second to load.
"""
