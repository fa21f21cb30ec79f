"""The same queries over Spark data frames, finite ones and streams."""
