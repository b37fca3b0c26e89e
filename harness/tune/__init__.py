"""Tuning: which thresholds to use, what they buy, and how sure that is, from one observed run."""
