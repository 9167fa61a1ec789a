"""`python -m safemargin`."""

from safemargin.cli import process

if __name__ == "__main__":
    process()
