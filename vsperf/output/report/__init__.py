"""Reports: records → one page that people read, print and send. They change nothing."""
