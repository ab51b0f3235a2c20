// What is selected on the timeline, else what it shows, is what @selection means in a question.

import { all } from './dom.js'

export function enhance(root) {
  for (const { dataset } of all(root, '[data-selection]')) {
    sessionStorage.setItem('selection', `${dataset.start}-${dataset.end}`)
  }
  for (const field of all(root, '[data-selected]')) field.value = sessionStorage.getItem('selection') ?? ''
}
