// Dialogs for destructive confirmations: the link works alone; with scripts its page opens on top.

import { swapIn } from './events.js'

document.addEventListener('click', async event => {
  const link = event.target.closest?.('a[data-dialog], dialog a[data-close]')
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  if ('close' in link.dataset) return link.closest('dialog').close()
  const dialog = document.getElementById(link.dataset.dialog)
  await swapIn(link.getAttribute('href'), `#${dialog.id}`, 'innerHTML')
  dialog.showModal()
})
