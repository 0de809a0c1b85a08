"""Which passes a drafter runs, and which drafts it proposes with which probabilities. Knows no device and no clock."""
