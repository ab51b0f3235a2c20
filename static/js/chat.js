// The composer: Enter sends, Shift+Enter makes a line; the question stands in the transcript at
// once while the server works on it. Without scripts the form posts and the page comes back.

import { all } from './dom.js'

const NEAR_END_PX = 80

export function enhance(root) {
  for (const form of all(root, '[data-composer]')) {
    if (!form.dataset.ready) composer(form)
  }
  if (root.matches?.('[data-turn]')) arrived(root)
}

function composer(form) {
  form.dataset.ready = ''
  const message = form.querySelector('textarea')
  message.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    form.requestSubmit()
  })
  form.addEventListener('submit', () => {
    form.querySelector('[data-now]').value = Date.now()
    pending(message.value)
  }, { capture: true })
  document.addEventListener('page:answered', event => {
    if (event.detail.elt === form) settled(form, message, event.detail.status)
  })
  // A composer that comes back with a refusal: nothing is being worked on.
  if (form.querySelector('#refusal')) document.querySelector('[data-pending]')?.setAttribute('hidden', '')
}

function pending(question) {
  const turn = document.querySelector('[data-pending]')
  if (!turn || !question.trim()) return
  turn.querySelector('[data-pending-question]').textContent = question
  turn.hidden = false
  tell('Searching')
  turn.scrollIntoView({ block: 'end' })
}

function settled(form, message, status) {
  const turn = document.querySelector('[data-pending]')
  if (status !== 204) turn.hidden = true // 204 leads to another page: leave it until that is here
  if (status === 200) {
    message.value = ''
    form.querySelector('#refusal')?.remove()
  }
}

function arrived(turn) {
  tell(turn.dataset.said)
  const below = document.documentElement.scrollHeight - innerHeight - scrollY
  if (below > NEAR_END_PX) turn.scrollIntoView({ block: 'start' })
}

function tell(text) {
  const place = document.querySelector('[data-chat-status]')
  if (place && text) place.textContent = text
}
