"""Compiles what a row's sides run, starts them, checks and times them."""
