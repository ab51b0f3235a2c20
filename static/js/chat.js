// The composer: Enter sends, Shift+Enter makes a line; the question stands in the transcript at
// once while the server works on it. While an answer is being written one message waits for its end.
// Without scripts the form posts and the page comes back.

import { announce } from './chat/announce.js'
import { keep } from './chat/draft.js'
import { follow } from './chat/follow.js'
import { all, onceEntered } from './dom.js'
import { swapIn } from './events.js'
import { attach } from './files/attach.js'
import { open } from './window/session.js'
import { tell } from './window/verbose.js'
import { t } from './words.js'

const NEAR_END_PX = 80

// Other forms that ask: what they bring stands at the end as well.
document.addEventListener('page:answered', event => {
  if (event.detail.status === 200 && event.detail.elt.matches?.('[data-asks]')) arrived(newest())
})

// An address that leads into an answer that is not drawn yet.
async function reach() {
  const at = location.hash.slice(1)
  const link = document.querySelector(`#${at.match(/^t\d+/) ?? 'none'} [data-older]`)
  if (!link) return
  await swapIn(link.getAttribute('hx-get'), link.getAttribute('hx-target'), 'outerHTML')
  document.getElementById(at)?.scrollIntoView()
}

addEventListener('hashchange', reach)

export function enhance(root) {
  if (root === document) reach()
  for (const form of all(root, '[data-composer]')) {
    if (!form.dataset.ready) composer(form)
  }
  for (const turn of all(root, '[data-events]')) follow(turn, ended)
}

function composer(form) {
  form.dataset.ready = 'yes'
  const message = form.querySelector('textarea')
  message.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    form.requestSubmit()
  })
  form.addEventListener('submit', event => {
    if (waits(form)) {
      event.preventDefault()
      event.stopImmediatePropagation()
      queue(form, true)
      return
    }
    form.querySelector('[data-now]').value = Date.now()
    pending(message.value)
  }, { capture: true })
  document.addEventListener('page:answered', event => {
    if (event.detail.elt === form) settled(form, message, event.detail.status)
  })
  message.addEventListener('input', () => queue(form, false))
  form.querySelector('[data-send-now]').addEventListener('click', () => send(form))
  form.querySelector('[data-take-back]').addEventListener('click', () => {
    queue(form, false)
    message.focus()
  })
  attach(form)
  if ('verbose' in form.dataset) tell(form)
  if (form.dataset.draft) onceEntered(form, () => keep(form))
  const opens = () => open(form)
  form.addEventListener('focusin', opens)
  if (form.contains(document.activeElement)) opens() // somebody was quicker than this script
  // A composer that comes back with a refusal: nothing is being worked on.
  if (form.querySelector('#refusal')) document.querySelector('[data-pending]')?.setAttribute('hidden', '')
}

// -- one message waits for the answer that is being written ---------------------------------------

function waits(form) {
  return form.dataset.send !== 'now' && document.querySelector('[data-turn][aria-busy=true]') !== null
}

function queue(form, isQueued) {
  form.querySelector('[data-queued]').hidden = !isQueued
}

function send(form) {
  queue(form, false)
  form.dataset.send = 'now'
  form.requestSubmit()
  delete form.dataset.send
}

// -- in the transcript ----------------------------------------------------------------------------

function pending(question) {
  const turn = document.querySelector('[data-pending]')
  if (!turn || !question.trim()) return
  turn.querySelector('[data-pending-question]').textContent = question
  turn.hidden = false
  announce(t('Searching'))
  turn.scrollIntoView({ block: 'end' })
}

function settled(form, message, status) {
  const turn = document.querySelector('[data-pending]')
  if (status !== 204) turn?.setAttribute('hidden', '') // 204 leads to another page: leave it until that is here
  if (status === 200) {
    message.value = ''
    form.elements.reading.value = ''
    message.dispatchEvent(new Event('input', { bubbles: true })) // what was understood goes, too
    form.elements.style_note.value = '' // it holds for one answer
    form.querySelector('#refusal')?.remove()
    arrived(newest())
  }
}

function newest() {
  return document.querySelector('#transcript').lastElementChild
}

function arrived(turn) {
  if (turn.getAttribute('aria-busy') !== 'true') ended(turn)
  turn.querySelector('[data-waits]')?.focus() // a decision is asked for already
  const below = document.documentElement.scrollHeight - innerHeight - scrollY
  if (below > NEAR_END_PX) turn.scrollIntoView({ block: 'start' })
}

// An answer is complete: that is said, and what waited for it goes out.
function ended(turn) {
  announce(turn.dataset.said)
  for (const form of document.querySelectorAll('[data-composer]')) {
    if (!form.querySelector('[data-queued]').hidden && !waits(form)) send(form)
  }
}
