"""Descriptions of plans, one module a family; `explain` lays them out."""
