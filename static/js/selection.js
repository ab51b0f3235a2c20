// Which range a question is about, beside its words: @selection is what is selected on the timeline, else
// what it shows; of several readings of a time it is the one that was pressed.

import { all } from './dom.js'

export function enhance(root) {
  for (const { dataset } of all(root, '[data-selection]')) {
    sessionStorage.setItem('selection', `${dataset.start}-${dataset.end}`)
  }
  for (const field of all(root, '[data-selected]')) field.value = sessionStorage.getItem('selection') ?? ''
}

document.addEventListener('click', event => {
  const chip = event.target.closest('[data-reading]')
  if (!chip) return
  const field = chip.closest('form').elements.reading
  field.value = chip.dataset.reading
  field.dispatchEvent(new Event('change', { bubbles: true })) // drawn again, pressed
})
