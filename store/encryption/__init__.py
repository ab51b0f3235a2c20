"""Encrypting a home that is not, and back."""
