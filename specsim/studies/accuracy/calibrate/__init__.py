"""An engine profile fitted to measurements."""
