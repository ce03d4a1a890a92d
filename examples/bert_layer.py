"""One training step of a BERT encoder layer: multi-head attention, dropout, layer norm, GELU."""

import torch
from torch import nn

if __name__ == "__main__":
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(d_model=64, nhead=4, dim_feedforward=256, activation="gelu", batch_first=True)
    optimizer = torch.optim.AdamW(layer.parameters())
    tokens = torch.randn(2, 16, 64)
    padding = torch.zeros(2, 16, dtype=torch.bool)
    padding[:, 12:] = True
    loss = (layer(tokens, src_key_padding_mask=padding) - tokens).square().mean()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.3f}")
