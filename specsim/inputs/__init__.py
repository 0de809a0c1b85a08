"""What users give, in files and on the command line: read, validated and checked. Knows no simulation."""
