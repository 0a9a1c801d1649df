"""`python -m hmem`, the same as `hmem`."""

from hmem.cli.main import main

main()
