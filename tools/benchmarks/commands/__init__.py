"""The commands of tools/bench and tools/records, a module each."""
