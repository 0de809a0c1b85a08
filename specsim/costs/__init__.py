"""What a forward pass costs: pure functions of shapes and a device profile. Knows no engine, clock or acceptance."""
