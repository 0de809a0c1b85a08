"""What a person reads: sentences, tables and result folders."""
