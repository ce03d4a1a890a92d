"""From a PyTorch expression to every function that ran, in the source, on the stock wheel."""

__version__ = "0.1.0"
