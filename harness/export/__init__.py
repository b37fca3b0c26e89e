"""What is stored, on its way out: spans to any backend, recordings back into scenario files."""
