"""From a project to a certified release."""
