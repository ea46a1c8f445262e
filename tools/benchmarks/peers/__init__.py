"""Programs of the peers, one for each, and the places of their interpreters."""
