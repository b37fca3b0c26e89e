"""Guards around the loops of agent frameworks, with a few lines each (``docs/adapters.md``).

One file a framework, each the one importer of its framework; none is imported by ``import
harness``. An iteration is one model response with the results of its tool calls.
"""
