"""Source text to rows: symbols, references and PyTorch's dialect of macros."""
