"""Text, pages and options; knows no feature."""
