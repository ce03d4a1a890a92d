"""Inference on quantized tensors: what is written and read as integers, and what runs between."""

import torch

if __name__ == "__main__":
    torch.manual_seed(0)
    a, b = torch.randn(4, 8), torch.randn(4, 8)
    with torch.inference_mode():
        qa = torch.quantize_per_tensor(a, scale=0.05, zero_point=0, dtype=torch.qint8)
        qb = torch.quantize_per_tensor(b, scale=0.05, zero_point=0, dtype=torch.qint8)
        joined = torch.cat([qa, qb])
        print(tuple(joined.dequantize().relu().shape))
