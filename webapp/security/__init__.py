"""Who may come in: loopback, tokens, one-time links, requests from other sites."""
