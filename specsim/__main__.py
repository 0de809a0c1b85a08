"""``python -m specsim``: the command, where it is not on the path."""

from specsim.cli.main import main

if __name__ == "__main__":
    main()
