"""Where ``python -m benchmarks --write`` puts its tables."""

from benchmarks import write
from benchmarks.report import Table

TABLE = Table("Speed", ["what", "s"], [["a", "1"]])


def test_tables_stand_between_the_markers_of_their_benchmark_on_any_page(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "PAGES", tmp_path)
    (tmp_path / "one.md").write_text("% begin speed\nold\n% end speed\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "two.md").write_text("Before.\n% begin speed_of_light\nold\n% end speed_of_light\nAfter.\n")
    assert write.page_of("speed") == tmp_path / "one.md"
    assert write.page_of("light") is None
    page = write.page_of("speed_of_light")
    write.write_tables(page, "speed_of_light", [TABLE], "On a machine.")
    assert page.read_text() == (
        "Before.\n% begin speed_of_light\n\n**Speed**\n\n| what | s |\n| --- | ---: |\n| a | 1 |\n\n"
        "On a machine.\n\n% end speed_of_light\nAfter.\n"
    )
    assert "old" in (tmp_path / "one.md").read_text()
