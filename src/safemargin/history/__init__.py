"""What was published before: the file of a ledger and its entries, for every feature that publishes tables."""
