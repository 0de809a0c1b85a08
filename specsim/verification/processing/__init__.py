"""From logits to the distribution that is sampled."""
