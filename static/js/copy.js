// Buttons that copy: a path becomes a whole address, anything else is copied as it is. A citation
// is copied as text and as HTML at once, so that where it is pasted decides.

import { say } from './toast.js'
import { t } from './words.js'

if (!navigator.clipboard) document.documentElement.classList.add('no-clipboard')
document.addEventListener('click', event => {
  const button = event.target.closest('[data-copy], [data-copy-from]')
  if (button?.dataset.copyFrom) copyFrom(button.dataset.copyFrom, button.dataset.copyType)
  else if (button) copy(button.dataset.copy, button.dataset.copyLink)
})

export function copy(text, link) {
  const whole = text.startsWith('/') ? absolute(text) : text
  if (!link) return settle(navigator.clipboard.writeText(whole))
  const anchor = document.createElement('a')
  anchor.href = absolute(link)
  anchor.textContent = whole
  return write({ 'text/plain': `${whole}, ${anchor.href}`, 'text/html': anchor.outerHTML })
}

// What the server makes of an answer, as `type` says.
async function copyFrom(address, type) {
  const made = fetch(address).then(answer => {
    if (!answer.ok) throw new Error(answer.status)
    return answer.text()
  })
  await write(type === 'text/html' ? { 'text/html': made, 'text/plain': made } : { 'text/plain': made })
}

function write(flavours) {
  const parts = Object.entries(flavours).map(([type, text]) =>
    [type, Promise.resolve(text).then(found => new Blob([found], { type }))])
  return settle(navigator.clipboard.write([new ClipboardItem(Object.fromEntries(parts))]))
}

async function settle(copying) {
  try {
    await copying
    say(t('Copied'))
  } catch {
    say(t('Nothing was copied: the browser did not allow it, or the server is away.'))
  }
}

function absolute(path) {
  return new URL(path, location.origin).href
}
