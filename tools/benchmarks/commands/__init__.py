"""What tools/bench and tools/records run, a module each."""
