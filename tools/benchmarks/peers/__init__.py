"""What others compute: a program for each peer, and where their interpreters are."""
