"""The command line: verbs and their help, what people read, and what happens around every verb."""
