"""Tables of measurements, read strictly."""
