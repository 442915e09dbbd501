"""Every command: parse, call, print."""
