"""Expressions, conditions and statements that the emitters of several families share."""
