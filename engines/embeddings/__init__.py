"""Sentence encoders behind one protocol: small local models, or an endpoint."""
