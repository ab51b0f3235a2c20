// A strip of neighbours begins where the current one stands.

import { all } from './dom.js'

export function enhance(root) {
  for (const current of all(root, '.near [aria-current]')) {
    const strip = current.closest('ol')
    strip.scrollLeft = current.offsetLeft - strip.offsetLeft - (strip.clientWidth - current.offsetWidth) / 2
  }
}
