// Buttons that copy: a path becomes a whole address, anything else is copied as it is.

import { all } from './dom.js'
import { say } from './toast.js'

export function enhance(root) {
  if (!navigator.clipboard) return
  for (const button of all(root, '[data-copy][hidden]')) {
    button.hidden = false
    button.addEventListener('click', () => copy(button.dataset.copy))
  }
}

export async function copy(text) {
  const whole = text.startsWith('/') ? new URL(text, location.origin).href : text
  try {
    await navigator.clipboard.writeText(whole)
    say('Copied')
  } catch {
    say('The browser did not allow copying.')
  }
}
