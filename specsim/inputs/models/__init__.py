"""What a scenario, a device, an engine profile can say: frozen pydantic models."""
