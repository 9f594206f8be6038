"""What make runs: set-up, the engine, the image, the demo. Each file is a program of its own."""
