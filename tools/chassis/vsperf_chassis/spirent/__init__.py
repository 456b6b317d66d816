"""Spirent TestCenter, by the REST interface of its Lab Server and the vendor's own client of it."""
