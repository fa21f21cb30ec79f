"""Matches as objects, Arrow columns and text."""
