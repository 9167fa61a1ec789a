"""Secondary suppression of cells."""
