"""What people and programs get to see of records: tables, pages, figures and exports."""
