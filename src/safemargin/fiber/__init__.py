"""All tables that are consistent with the published ones."""
