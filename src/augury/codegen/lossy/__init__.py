"""LossyPlan -> source of arrival queues and scores (paper 004)."""
