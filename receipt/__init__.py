"""What passes between rendering and judging: digests, PNGs, the receipt, its signature, the store, the evidence."""
