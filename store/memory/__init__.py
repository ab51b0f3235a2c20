"""What was derived from frames and chats: observations, summaries, digests, insights, days."""
