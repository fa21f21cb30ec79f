"""Loss models fitted to a history, and how well they predict (paper 004)."""
