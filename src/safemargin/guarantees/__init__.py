"""Privacy guarantees: compose, convert, compare, verify."""
