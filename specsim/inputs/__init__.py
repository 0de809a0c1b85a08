"""What users state, in files and on the command line: closed, frozen and checked. Knows no simulation."""
