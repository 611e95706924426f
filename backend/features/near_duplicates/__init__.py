"""Groups of near-duplicate pictures, of which one is kept."""
