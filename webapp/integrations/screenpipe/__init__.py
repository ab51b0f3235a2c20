"""The screenpipe-shaped read API: their parameter names, times and answers, our frames.

Written after the public routes of https://github.com/screenpipe/screenpipe (its Rust server, its
SDK `@screenpipe/js` and its MCP server `screenpipe-mcp`), for programs that people already have.
It is a door like `webapp.integrations.mcp`: read-only, past today's exclusion rules, every call
on record. It listens on a loopback port of its own when `compat.screenpipe_port` is set.

screenpipe's clients since 2026 send ``Authorization: Bearer`` with the key they find in
``SCREENPIPE_LOCAL_API_KEY``; older ones send nothing. A token is asked for by default, because
any program, of any user of the machine, can reach a loopback port; `compat.token_required` says
otherwise. `docs/doors.md` has the whole decision.
"""
