"""Inference with a sparse matrix: a graph's neighbours are averaged, then mixed by a linear layer."""

import torch
from torch import nn

if __name__ == "__main__":
    torch.manual_seed(0)
    edges = torch.randint(50, (2, 200))
    graph = torch.sparse_coo_tensor(edges, torch.ones(200), (50, 50)).coalesce()
    nodes, mix = torch.randn(50, 16), nn.Linear(16, 8)
    with torch.no_grad():
        degree = torch.sparse.sum(graph, dim=1).to_dense().clamp(min=1)
        mean = torch.sparse.mm(graph, nodes) / degree[:, None]
        print(tuple(mix(mean).relu().shape))
