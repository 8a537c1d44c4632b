"""What the keys of stored results depend on, and how long results are kept in memory."""
