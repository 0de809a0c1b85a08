"""The ``specsim`` command."""
