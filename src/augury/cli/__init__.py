"""The command line: argument parsing and printing only."""

from augury.cli.app import app
from augury.cli.startup import main

__all__ = ["app", "main"]
