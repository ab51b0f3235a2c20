// Dialogs for destructive confirmations: the link works alone; with scripts its page opens on top.
// Menus close when something else is pressed or has the focus, when one of their actions is done, and with Esc.

import { swapIn } from './events.js'
import { say } from './toast.js'
import { t } from './words.js'

document.addEventListener('click', async event => {
  const link = event.target.closest?.('a[data-dialog], dialog a[data-close]')
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  if ('close' in link.dataset) return link.closest('dialog').close()
  const dialog = document.getElementById(link.dataset.dialog)
  await swapIn(link.getAttribute('href'), `#${dialog.id}`, 'innerHTML')
  dialog.showModal()
})

// The recording light opens over the page; Esc and a click elsewhere close it, and give the focus back.
document.addEventListener('click', async event => {
  const link = event.target.closest?.('a[data-popover]')
  const place = document.getElementById('now')
  if (!link || !place?.showPopover || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  if (place.matches(':popover-open')) return place.hidePopover()
  const next = encodeURIComponent(location.pathname + location.search)
  const answer = await fetch(`${link.dataset.popover}?next=${next}`).catch(() => null)
  if (!answer) return say(t('The server cannot be reached. Is Recollect still running?'))
  if (!answer.ok || !light()) return location.assign(link.href) // a page tells what is wrong
  place.replaceChildren(...new DOMParser().parseFromString(await answer.text(), 'text/html').body.childNodes)
  const { bottom, right } = light().getBoundingClientRect()
  place.style.setProperty('--top', `${bottom + 4}px`)
  place.style.setProperty('--right', `${Math.max(8, document.documentElement.clientWidth - right)}px`)
  place.showPopover()
  place.querySelector('button, a').focus()
})

document.getElementById('now')?.addEventListener('toggle', event => {
  const { activeElement, body } = document
  if (event.newState === 'closed' && (activeElement === body || event.target.contains(activeElement))) light()?.focus()
})

// Where it stands now: the light replaces itself, also while its popover is fetched or open.
function light() {
  return document.getElementById('capture-light-link')
}

for (const kind of ['click', 'focusin', 'submit']) document.addEventListener(kind, ({ target }) => {
  const isDone = kind === 'submit' || kind === 'click' && target.closest('.menu :is(a, button)')
  for (const menu of openMenus()) if (isDone || !menu.contains(target)) close(menu)
})

document.addEventListener('keydown', event => {
  if (event.key !== 'Escape') return
  for (const menu of openMenus()) close(menu)
})

function close(menu) {
  menu.open = false
  if (menu.contains(document.activeElement)) menu.querySelector('summary').focus()
}

function openMenus() {
  return document.querySelectorAll('details:is(.more, .scope)[open]')
}
