"""How far predictions are from measurements, and profiles fitted to them."""
