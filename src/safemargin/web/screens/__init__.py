"""One file per screen, each with a template of its name."""
