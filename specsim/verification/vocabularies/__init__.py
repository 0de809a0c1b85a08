"""Drafters whose vocabulary is not the target's: by the tokens that both have, or by text.

After Timor et al. 2025 (arXiv:2502.05202). Where the drafter's tokens are a part of the target's, `VocabularyMap` does.
"""
