"""The questions, a folder each: command, run, text and figure."""
