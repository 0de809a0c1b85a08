"""Is the verifier lossless?"""
