// What stands in the composer is kept on the server while it is written, and gone once it is sent.

import { t } from '../words.js'

const IDLE_MS = 800

export function keep(form) {
  const field = form.querySelector('textarea')
  let kept = field.defaultValue
  let timer = 0
  let saving = null

  async function save() {
    clearTimeout(timer)
    if (field.value === kept) return
    const text = field.value
    saving?.abort()
    const own = (saving = new AbortController())
    try {
      const answer = await fetch(form.dataset.draft, { method: 'POST', body: body(text), signal: own.signal })
      if (!answer.ok) throw new Error(answer.status)
      kept = text
      tell('')
    } catch {
      if (!own.signal.aborted) tell(t('This draft is not saved yet.'))
    }
    if (saving === own) saving = null
  }

  function body(text) {
    const data = new FormData()
    data.set('csrf_token', form.elements.csrf_token.value)
    data.set('message', text)
    return data
  }

  function tell(text) {
    form.querySelector('[data-draft-state]').textContent = text
  }

  field.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(save, IDLE_MS)
  })
  field.addEventListener('blur', save)
  addEventListener('pagehide', () => {
    if (field.isConnected && field.value !== kept) navigator.sendBeacon(form.dataset.draft, body(field.value))
  })

  // Once it is on its way nothing is left to keep, also where an earlier save comes in late.
  let wasSaving = false
  form.addEventListener('submit', () => {
    clearTimeout(timer)
    wasSaving = !!saving
    saving?.abort()
    kept = field.value
  })
  document.addEventListener('page:answered', event => {
    if (event.detail.elt !== form) return
    const isSent = event.detail.status === 200
    kept = isSent ? (wasSaving ? null : '') : kept
    if (isSent ? wasSaving : event.detail.status !== 204) save()
  })
  if (field.value !== kept) timer = setTimeout(save, IDLE_MS)
}
