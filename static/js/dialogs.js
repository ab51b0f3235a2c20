// Dialogs for destructive confirmations: the link works alone; with scripts its page opens on top.

export function enhance(root) {
  for (const opener of root.querySelectorAll('a[data-dialog]')) {
    if (opener.dataset.ready) continue
    opener.dataset.ready = ''
    opener.addEventListener('click', async event => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      const dialog = document.getElementById(opener.dataset.dialog)
      await window.htmx.ajax('GET', opener.getAttribute('href'), { target: `#${dialog.id}`, swap: 'innerHTML' })
      dialog.showModal()
      dialog.addEventListener('close', () => opener.focus(), { once: true })
    })
  }
  for (const button of root.querySelectorAll('[data-close]')) {
    button.addEventListener('click', event => {
      const dialog = button.closest('dialog')
      if (dialog) {
        event.preventDefault()
        dialog.close()
      }
    })
  }
}
