"""SES automata over batches."""
