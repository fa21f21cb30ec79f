"""The command line: argument parsing and printing only."""

from augury.cli.app import app, main

__all__ = ["app", "main"]
