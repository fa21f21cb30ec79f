"""Hosts feed sorted events to compiled queries and hand back their matches."""
