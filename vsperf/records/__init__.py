"""What was measured: frozen records, and their schema."""
