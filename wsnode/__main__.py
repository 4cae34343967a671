"""`python -m wsnode` is `wsnode`."""

from wsnode.cli import main

main()
