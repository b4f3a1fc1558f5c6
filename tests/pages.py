"""Checks of any page in a browser."""

from typing import Any

# Names of what can be operated, as assistive technology finds them; text that is too faint for its background.
UNNAMED = """() => [...document.querySelectorAll("button, select, input, canvas, summary, a, [tabindex]")]
  .filter((node) => node.checkVisibility() && !node.closest("[aria-hidden]"))
  .filter((node) => !(node.ariaLabel || node.labels?.length || node.textContent.trim()))
  .map((node) => node.outerHTML)"""
FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const color = rgb(getComputedStyle(node).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255];
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


def unfold(details: Any) -> None:
    """Open a table of values, and wait for it: it is filled once the browser says that it is open."""
    details.locator("summary").first.click()
    details.locator("th").first.wait_for()
