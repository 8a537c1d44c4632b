"""``python -m rdmacc``: the command line."""

from rdmacc.cli.main import main

main()
