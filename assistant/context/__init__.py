"""What earlier chats came to: sessions, summaries, topics, digests, background."""
