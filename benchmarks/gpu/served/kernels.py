"""Four kernels in PyTorch, on a GPU or on one core: nearest documents, Monte Carlo prices, a transformer (in SQL's
place among the four applications), a filter over frames. And one that only takes an array to the device."""

import os
from functools import cache

import numpy as np
import torch

from vinesim.live.kernels import kernel, payload, prepare

torch.set_num_threads(1)
N_DOCUMENTS, N_FEATURES, BEST = 300_000, 256, 10
N_PATHS = 1_000_000
WIDTH, LAYERS, LENGTH = 512, 6, 128
FRAME = (720, 1280)


def place(on):
    return torch.device("cuda" if on == "GPU" and torch.cuda.is_available() else "cpu")


@cache
def documents(on):
    random = torch.Generator().manual_seed(0)
    return torch.randn(N_DOCUMENTS, N_FEATURES, generator=random).to(place(on))


@cache
def model(on):
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True, dropout=0.0)
    return torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).eval().to(place(on))


@payload("search")
def query(size, random):
    return random.standard_normal(N_FEATURES, dtype=np.float32)


@payload("option")
def market(size, random):
    return {"spot": float(random.uniform(80, 120)), "seed": int(random.integers(0, 1 << 30))}


@payload("sql")
def text(size, random):
    return random.standard_normal((LENGTH, WIDTH), dtype=np.float32)


@payload("video")
def clip(size, random):
    return {"n_frames": max(1, round(size)), "seed": int(random.integers(0, 1000))}


@torch.inference_mode()
def search(on, queries):
    asked = torch.from_numpy(np.stack(queries)).to(place(on))
    return (asked @ documents(on).T).topk(BEST, dim=1).indices.cpu().tolist()


@torch.inference_mode()
def option(on, markets):
    found = []
    for one in markets:
        random = torch.Generator(device=place(on)).manual_seed(one["seed"])
        normal = torch.randn(N_PATHS, generator=random, device=place(on))
        end = one["spot"] * torch.exp(-0.02 + 0.2 * normal)
        found.append((end - 100.0).clamp(min=0).mean())
    return torch.stack(found).cpu().tolist()


@torch.inference_mode()
def sql(on, texts):
    return model(on)(torch.from_numpy(np.stack(texts)).to(place(on))).mean(dim=(1, 2)).cpu().tolist()


@torch.inference_mode()
def video(on, clips):
    found = []
    for one in clips:
        random = torch.Generator(device=place(on)).manual_seed(one["seed"])
        frames = torch.rand(one["n_frames"], 1, *FRAME, generator=random, device=place(on))
        weight = torch.full((1, 1, 5, 5), 1 / 25, device=place(on))
        found.append(torch.nn.functional.conv2d(frames, weight, stride=2).mean())
    return torch.stack(found).cpu().tolist()


@torch.inference_mode()
def take(on, arrays):
    return [float(torch.from_numpy(one).to(place(on)).sum()) for one in arrays]


for on in ("CPU", "GPU"):
    for function in (search, option, sql, video, take):
        kernel(function.__name__, on=on)(lambda payloads, on=on, function=function: function(on, payloads))


@prepare
def warm():
    random = np.random.default_rng(0)
    on = "GPU" if os.environ.get("VINESIM_UNIT") == "0" else "CPU"  # the first unit of the clusters here
    for function, make in ((search, query), (option, market), (sql, text), (video, clip)):
        for n in (1, 2, 4, 8):
            function(on, [make(1.0, random) for _ in range(n)])
