"""What a person imported, and the entities and facts that were learned."""
