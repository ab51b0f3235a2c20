// Elements of a kind in a piece of the page, the piece itself included.

export function all(root, selector) {
  return [...(root.matches?.(selector) ? [root] : []), ...root.querySelectorAll(selector)]
}
