"""`python -m wsnode` is `wsnode`."""

from wsnode.cli.main import main

main()
