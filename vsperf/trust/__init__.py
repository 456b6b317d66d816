"""What root believes of others: their files and folders, programs, answers and JSON."""
