"""EventSetsPlan -> source of SES automata (paper 002)."""
