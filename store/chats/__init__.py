"""Conversations and what belongs to them: messages, attachments, tool calls, prompts, personas."""
