"""The closed form on an ideal device."""
