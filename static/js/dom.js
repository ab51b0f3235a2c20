// Elements of a kind in a piece of the page, the piece itself included.

export function all(root, selector) {
  return [...(root.matches?.(selector) ? [root] : []), ...root.querySelectorAll(selector)]
}

// Calls once a person is in a part of the page, also when they were quicker than the script.

export function onceEntered(part, call) {
  if (part.contains(document.activeElement)) call()
  else part.addEventListener('focusin', call, { once: true })
}
