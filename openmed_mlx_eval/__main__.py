"""`python -m openmed_mlx_eval` is the console script."""

from .cli.main import main

if __name__ == "__main__":
    main()
