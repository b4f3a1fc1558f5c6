"""Tables as Parquet files, and damage to them."""

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import duckdb

from verification.fuzz.tables import damaged_table
from verification.fuzz.texts import damaged_bytes


def parquet_of(text: str, all_text: bool = False) -> bytes:
    """Return a CSV file's table as a Parquet file, with the types that its cells suggest, or as text."""
    with TemporaryDirectory() as name, duckdb.connect() as connection:
        table, made = Path(name) / "table.csv", Path(name) / "table.parquet"
        table.write_bytes(text.encode(errors="replace"))
        read = f"read_csv('{table}', all_varchar={all_text}, null_padding=true, strict_mode=false)"
        connection.execute(f"COPY (FROM {read}) TO '{made}' (FORMAT parquet)")
        return made.read_bytes()


def damaged_parquet(data: bytes, random: Random) -> tuple[bytes, str]:
    """Return a Parquet file whose table is damaged; of its bytes where that is no table any more."""
    with TemporaryDirectory() as name, duckdb.connect() as connection:
        table, text = Path(name) / "table.parquet", Path(name) / "table.csv"
        table.write_bytes(data)
        connection.execute(f"COPY (FROM '{table}') TO '{text}' (FORMAT csv, HEADER)")
        changed, damage = damaged_table(text.read_text(), random)
    try:
        return parquet_of(changed, all_text=random.random() < 0.3), damage
    except duckdb.Error:
        return damaged_bytes(data, random)
