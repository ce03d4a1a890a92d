"""From the log of torch.compile to what it did: functions, breaks, recompilations, guards, kernels, times."""
