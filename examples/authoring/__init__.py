"""Authors the example cases with usd-core: drawings, two workshops that build from them, and their folders."""
