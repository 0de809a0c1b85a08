"""How many tokens to draft: pure functions of what an engine could observe."""
