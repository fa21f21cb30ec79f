"""What there is to say about a plan, one module a family; `explain` lays it out."""
