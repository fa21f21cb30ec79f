"""The Spark host: queries over finite and streaming data frames."""
