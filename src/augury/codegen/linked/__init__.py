"""LinkedPlan -> source of linked chains (paper 003)."""
