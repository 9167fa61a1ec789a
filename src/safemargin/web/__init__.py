"""The workbench: local pages over the commands. Extra `web`."""
