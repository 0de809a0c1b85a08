"""Other tools' files ↔ our inputs and records."""
