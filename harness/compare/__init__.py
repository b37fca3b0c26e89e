"""A baseline against a candidate: sides, pairs, statistics, and the words for them."""
