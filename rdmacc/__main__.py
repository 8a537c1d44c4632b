"""``python -m rdmacc``: the command line."""

from rdmacc.cli.main import main

if __name__ == "__main__":
    main()
