"""Plans as diagrams: the automata as the papers draw them."""
