"""What several studies share: results as folders, words, figures, and runs over processes."""
