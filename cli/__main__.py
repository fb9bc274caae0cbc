"""`python -m cli` in a checkout, `python -m cosyvoice_batch.cli` where it is installed."""

from .launch import main

if __name__ == "__main__":
    main()
