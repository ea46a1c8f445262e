"""The rows that are measured, and the data of rows that need some."""
