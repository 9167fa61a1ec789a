"""`python -m safemargin.cli`."""

from safemargin.cli import main

if __name__ == "__main__":
    main()
