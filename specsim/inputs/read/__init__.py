"""From names, files and options to inputs, with every problem told at once."""
