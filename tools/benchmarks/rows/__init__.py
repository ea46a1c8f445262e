"""What is measured: rows, and the data of those that need some."""
