"""Chat models behind one protocol: endpoints that speak OpenAI, and answers without a model."""
