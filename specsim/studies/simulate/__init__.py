"""One load in detail."""
