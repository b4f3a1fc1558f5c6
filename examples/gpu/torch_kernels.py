"""A PyTorch model as a kernel: the features of each token of a text. Without a GPU it runs on the CPU.

The model has the random weights of a seed; load those of yours where it is made.
"""

from functools import cache

import numpy as np
import torch

from vinesim.live.kernels import kernel, payload, prepare

LENGTH, WIDTH, LAYERS = 64, 256, 2  # tokens of a text, features of a token
MOST = 16  # texts at once: max_consolidated in torch.yaml
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Encoder:
    """The model where it computes, and memory of the host that the GPU reads and writes by itself."""

    def __init__(self):
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, 4, batch_first=True)
        self.model = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).eval().to(DEVICE)
        self.given, self.found = (torch.empty(MOST, LENGTH, WIDTH, pin_memory=DEVICE.type == "cuda") for _ in range(2))


@cache
def encoder():
    return Encoder()


@kernel("encode")
@torch.inference_mode()
def encode(texts):
    one, n = encoder(), len(texts)
    np.stack(texts, out=one.given.numpy()[:n])
    found = one.model(one.given[:n].to(DEVICE, non_blocking=True))
    if DEVICE.type == "cuda":
        found = one.found[:n].copy_(found)  # waits for the GPU
    return list(found.numpy())


@prepare
def warm_up():
    for n in range(1, MOST + 1):
        encode([np.zeros((LENGTH, WIDTH), np.float32)] * n)


@payload("encode")
def text(size, random):
    return random.standard_normal((LENGTH, WIDTH), dtype=np.float32)
