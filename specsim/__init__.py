"""specsim: does speculative decoding pay on this GPU, model, drafter and traffic, and up to which load?

The package imports nothing by itself, so that importing one part of it (a verifier, say) loads that part only.
"""

__version__ = "0.1.0"
