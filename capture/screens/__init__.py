"""Grabbing pictures of each monitor, a module per platform."""
