// A picture that does not arrive says so; it never stays a broken icon or a spinner.

import { all } from './dom.js'
import { t } from './words.js'

export function enhance(root) {
  for (const image of all(root, 'img[data-picture]')) {
    image.onerror = () => failed(image)
    if (image.complete && image.currentSrc && !image.naturalWidth) failed(image)
  }
  for (const sheet of all(root, 'image[data-picture]')) {
    sheet.onerror = () => document.querySelectorAll(`[href="#${sheet.id}"]`).forEach(use => failed(use.parentElement))
  }
}

function failed(image) {
  const place = image.closest('.thumb, .screen')
  if (!place || 'failed' in place.dataset) return
  place.dataset.failed = ''
  const note = document.createElement('span')
  note.className = 'failed'
  note.textContent = t('Picture not available')
  image.after(note)
  image.toggleAttribute('hidden', true)
}
