"""7. The page about runs: figures, sections, published figures, records."""
