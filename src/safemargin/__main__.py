"""`python -m safemargin`."""

from safemargin.cli import main

if __name__ == "__main__":
    main()
