// A system prompt saves itself: after a pause in typing, when the field is left, when the page goes.
// What it says of the text comes from the server, which also counts the tokens. What could not be saved
// stays in the field, says so, and is tried again on request.

import { all } from '../dom.js'
import { t } from '../words.js'

const PAUSE_MS = 800
const WARN_AT = 0.9

export function enhance(root) {
  for (const form of all(root, '[data-prompt]')) {
    if (!form.dataset.ready) editor(form)
  }
}

function editor(form) {
  form.dataset.ready = 'yes'
  const field = form.querySelector('textarea')
  const section = form.closest('#prompt')
  let saved = field.defaultValue
  let saving = null
  let timer = 0
  const isChanged = () => field.value !== saved
  const noteTyping = () => {
    count(form, field)
    clearTimeout(timer)
    timer = setTimeout(save, PAUSE_MS)
  }

  field.addEventListener('input', noteTyping)
  field.addEventListener('blur', save)
  form.addEventListener('click', event => { if (event.target.closest('[data-prompt-retry]')) save() })
  form.addEventListener('submit', () => { saved = field.value }) // the form carries the text itself
  const select = section.querySelector('[data-prompt-model]')
  const go = async () => {
    if (await save()) select.form.submit()
    else select.value = form.elements.model.value
  }
  select?.addEventListener('change', go)
  addEventListener('pagehide', () => {
    if (isChanged() && form.isConnected) navigator.sendBeacon(form.action, content(form))
  })

  // While this script was still on its way
  if (isChanged()) noteTyping()
  if (select && select.value !== form.elements.model.value) go()

  // Whether everything typed so far is saved. One request at a time: the next one begins where the last ended.
  async function save() {
    clearTimeout(timer)
    while (saving) await saving
    if (!isChanged()) return true
    saving = send()
    const isSaved = await saving
    saving = null
    return isSaved && !isChanged() ? true : isSaved && save()
  }

  async function send() {
    const text = field.value
    tell(form, t('Saving…'))
    try {
      const answer = await fetch(form.action, {
        method: 'POST', body: content(form), headers: { 'HX-Request': 'true' }, redirect: 'error',
      })
      const fresh = piece(await answer.text())
      if (!fresh) throw new Error(answer.status)
      form.querySelector('[data-prompt-facts]').replaceWith(fresh)
      if (answer.ok) saved = text
      count(form, field)
      return answer.ok
    } catch {
      tell(form, t('Not saved: the server was not reached, or refused.'), true)
      return false
    }
  }
}

function content(form) {
  const data = new FormData(form)
  data.set('auto', '1')
  return new URLSearchParams(data)
}

function piece(html) {
  const made = new DOMParser().parseFromString(html, 'text/html').querySelector('[data-prompt-facts]')
  return made && document.importNode(made, true)
}

function tell(form, words, canRetry = false) {
  form.querySelector('[data-prompt-state]').textContent = words
  form.querySelector('[data-prompt-retry]').hidden = !canRetry
}

// Characters as the server counts them; a reader hears of them only near the limit.
function count(form, field) {
  const length = [...field.value].length
  form.querySelector('[data-prompt-clear]').disabled = !length
  const limit = +field.dataset.limit
  form.querySelector('[data-prompt-characters]').textContent = length
  if (length !== +form.querySelector('[data-prompt-facts]').dataset.characters) {
    form.querySelector('[data-prompt-tokens]').textContent = t('tokens are being counted')
  }
  const words = length > limit ? t('Characters too many: %(number)s', { number: length - limit })
    : length >= WARN_AT * limit ? t('Characters left: %(number)s', { number: limit - length }) : ''
  const place = form.querySelector('[data-prompt-limit]')
  if (place.textContent !== words && (!words || !place.textContent || length > limit)) place.textContent = words
}
