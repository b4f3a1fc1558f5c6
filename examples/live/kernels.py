"""The kernels of the four applications: semantic search, option pricing, an SQL query, a filter over frames.

Each has an implementation per processor type. Those for the CPU process one request after the other; those for the
accelerator process all consolidated requests in one operation, and those for the GPU do so in CUDA.
"""

from functools import cache

import numpy as np

from vinesim.live.kernels import kernel, payload, prepare

N_DOCUMENTS, N_FEATURES, BEST = 20_000, 64, 10
N_OPTIONS = 5_000
N_ROWS = 50_000
FRAME = (144, 256)


# --- semantic search: the documents whose vectors are most similar to the query's ---


@cache
def documents():
    return np.random.default_rng(0).standard_normal((N_DOCUMENTS, N_FEATURES), dtype=np.float32)


def best(scores):
    found = np.argpartition(scores, -BEST)[-BEST:]
    return found[np.argsort(scores[found])[::-1]].tolist()


@payload("search")
def query(size, random):
    return random.standard_normal(N_FEATURES, dtype=np.float32)


@kernel("search", on="CPU")
def search(queries):
    return [best(documents() @ one) for one in queries]


@kernel("search", on="ACC")
def search_at_once(queries):
    return [best(scores) for scores in np.stack(queries) @ documents().T]


# --- option pricing: Black-Scholes prices of European calls ---


@payload("option")
def market(size, random):
    return {"spot": float(random.uniform(80, 120)), "rate": 0.02, "volatility": float(random.uniform(0.1, 0.4))}


@cache
def contracts():
    random = np.random.default_rng(1)
    return random.uniform(60, 140, N_OPTIONS), random.uniform(0.1, 2.0, N_OPTIONS)  # strikes, years


def call_prices(spot, rate, volatility):
    from scipy.special import ndtr

    strikes, years = contracts()
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strikes) + (rate + volatility**2 / 2) * years) / spread
    return spot * ndtr(d1) - strikes * np.exp(-rate * years) * ndtr(d1 - spread)


@kernel("option", on="CPU")
def option(markets):
    return [float(call_prices(**one).sum()) for one in markets]


@kernel("option", on="ACC")
def option_at_once(markets):
    columns = [np.array([one[name] for one in markets])[:, None] for name in ("spot", "rate", "volatility")]
    return call_prices(*columns).sum(axis=1).tolist()


@kernel("option", on="GPU")
def option_on_gpu(markets):
    prices = price_on_gpu()
    strikes, years = contracts()
    return [float(prices(strikes, years, one["spot"], one["rate"], one["volatility"]).sum()) for one in markets]


@cache
def price_on_gpu():
    global cuda  # the simulator of CUDA looks for it there
    import math

    from numba import cuda

    @cuda.jit
    def prices(strikes, years, spot, rate, volatility, result):
        i = cuda.grid(1)
        if i < strikes.size:
            spread = volatility * math.sqrt(years[i])
            d1 = (math.log(spot / strikes[i]) + (rate + volatility * volatility / 2) * years[i]) / spread
            below1, below2 = math.erfc(-d1 / math.sqrt(2.0)) / 2, math.erfc(-(d1 - spread) / math.sqrt(2.0)) / 2
            result[i] = spot * below1 - strikes[i] * math.exp(-rate * years[i]) * below2

    def call(strikes, years, spot, rate, volatility, threads=128):
        result = np.empty_like(strikes)
        prices[(strikes.size + threads - 1) // threads, threads](strikes, years, spot, rate, volatility, result)
        return result

    return call


# --- an SQL query on a table that every device has ---


@payload("sql")
def customer(size, random):
    return int(random.integers(0, 100))


@cache
def database():
    import duckdb

    found = duckdb.connect()
    found.execute(
        "CREATE TABLE sales AS SELECT range % 100 AS customer, range % 7 AS day, (range * 37) % 1000 AS amount "
        "FROM range(?)",
        [N_ROWS],
    )
    return found


@kernel("sql", on="CPU")
def sql(customers):
    query = "SELECT day, sum(amount) FROM sales WHERE customer = ? GROUP BY day ORDER BY day"
    return [[list(map(int, row)) for row in database().execute(query, [one]).fetchall()] for one in customers]


@kernel("sql", on="ACC")
def sql_at_once(customers):
    rows = database().execute(
        "SELECT customer, day, sum(amount) FROM sales WHERE customer IN (SELECT unnest(?)) GROUP BY ALL ORDER BY ALL",
        [sorted(set(customers))],
    )
    found = {}
    for one, day, amount in rows.fetchall():
        found.setdefault(one, []).append([int(day), int(amount)])
    return [found.get(one, []) for one in customers]


@prepare
def tables():
    # so that no request has to wait for it
    search_at_once([query(1.0, np.random.default_rng(0))])
    option_at_once([market(1.0, np.random.default_rng(0))])
    sql_at_once([0])


# --- a filter over frames, as in transcoding: blur, then half the size; the size of a request is its frames ---


@payload("video")
def clip(size, random):
    return {"n_frames": max(1, round(size)), "seed": int(random.integers(0, 1000))}


def half_size(frames):
    blurred = frames[:, 1:-1, 1:-1] / 2
    blurred += (frames[:, :-2, 1:-1] + frames[:, 2:, 1:-1] + frames[:, 1:-1, :-2] + frames[:, 1:-1, 2:]) / 8
    return blurred[:, ::2, ::2]


def frames_of(one):
    return np.random.default_rng(one["seed"]).random((one["n_frames"], *FRAME), dtype=np.float32)


@kernel("video")
def frames(clips):
    return [float(half_size(frames_of(one)).mean()) for one in clips]
