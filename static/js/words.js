// Texts in the page's language: the page brings those of the scripts along where it is not English.

const known = JSON.parse(document.getElementById('script-texts')?.textContent ?? '{}')

// The text with `values` in its %(name)s places.
export function t(text, values = {}) {
  return (known[text] ?? text).replace(/%\((\w+)\)s/g, (_, name) => values[name])
}
