"""Checks of any page in a browser."""

from typing import Any

# Names of what can be operated, as assistive technology finds them; text that is too faint for its background.
UNNAMED = """() => [...document.querySelectorAll("button, select, input, canvas, summary, a, [tabindex]")]
  .filter((node) => node.checkVisibility() && !node.closest("[aria-hidden]"))
  .filter((node) => !(node.ariaLabel || node.labels?.length || node.textContent.trim()))
  .map((node) => node.outerHTML)"""
FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colors = new Map();
  const rgb = (color) => {
    if (!colors.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      colors.set(color, canvas.getImageData(0, 0, 1, 1).data);
    }
    return colors.get(color);
  };
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const grounds = new Map([[null, [255, 255, 255]]]);
  const behind = (node) => {
    if (!grounds.has(node)) {
      const color = rgb(getComputedStyle(node).backgroundColor);
      grounds.set(node, color[3] === 255 ? color : behind(node.parentElement));
    }
    return grounds.get(node);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const faint = [];
  let seen = 0;
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !node.checkVisibility() || node.closest("script, .hidden, .u-wrap")) continue;
    seen += 1;
    const [a, b] = [light(rgb(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(texts.currentNode.data);
  }
  return [seen, faint];
}"""
UNFOLD = """(folds) => Promise.all(folds.filter((fold) => !fold.open).map((fold) => new Promise((opened) => {
  fold.addEventListener("toggle", opened, { once: true });
  fold.open = true;
})))"""


def unfold(details: Any) -> None:
    """Open a table of values, and wait for it: it is filled once the browser says that it is open."""
    details.locator("summary").first.click()
    details.locator("th").first.wait_for()


def unfold_all(page: Any, which: str = "details") -> None:
    """Open all of them at once: each click waits until a page with all tables before is laid out and still."""
    page.locator(which).evaluate_all(UNFOLD)
