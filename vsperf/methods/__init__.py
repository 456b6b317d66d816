"""What a case asks: each method in a file of its own, from its settings to its standing."""
