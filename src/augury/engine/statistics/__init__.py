"""Rates and selectivities measured on a sample of the events, for the planner."""
