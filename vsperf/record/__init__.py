"""What was measured: frozen records, their schema and its migrations."""
