"""What several results say together; reads records and runs nothing."""
