"""Records in forms that other programs read: tables, JUnit XML, metrics. One format a file."""
