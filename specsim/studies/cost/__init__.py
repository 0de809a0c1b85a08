"""One step taken apart."""
