"""Word lists and patterns, as versioned data files."""
