// Dialogs for destructive confirmations: the link works alone; with scripts its page opens on top.

import { all } from './dom.js'
import { swapIn } from './events.js'

export function enhance(root) {
  for (const opener of all(root, 'a[data-dialog]')) {
    if (opener.dataset.ready) continue
    opener.dataset.ready = 'yes'
    opener.addEventListener('click', async event => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      const dialog = document.getElementById(opener.dataset.dialog)
      await swapIn(opener.getAttribute('href'), `#${dialog.id}`, 'innerHTML')
      dialog.showModal()
      dialog.addEventListener('close', () => opener.focus(), { once: true })
    })
  }
  for (const button of all(root, '[data-close]')) {
    button.addEventListener('click', event => {
      const dialog = button.closest('dialog')
      if (dialog) {
        event.preventDefault()
        dialog.close()
      }
    })
  }
}
