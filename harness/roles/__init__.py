"""Mechanisms that ask a model: each has a role, a throttle, a request and a strict parse."""
