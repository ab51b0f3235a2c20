// The one place that knows htmx: its event names change with version 4. Others hear page: events
// and call `swapIn` and `morph`.

import { say } from './toast.js'

let enhance = () => {}

export function listen(given) {
  enhance = given
  enhance(document)
  document.addEventListener('htmx:load', event => enhance(event.detail.elt))
  document.addEventListener('htmx:beforeSwap', event => keepPicture(event.detail.target))
  document.addEventListener('htmx:afterSettle', event => {
    focusFirstNew(event)
    tell('page:settled', { elt: event.detail.elt })
  })
  document.addEventListener('htmx:afterRequest', event => {
    tell('page:answered', { elt: event.detail.elt, status: event.detail.xhr.status })
  })
  document.addEventListener('htmx:sendError', () => say('The server cannot be reached. Is Recollect still running?'))
  document.addEventListener('htmx:timeout', () => say('The server did not answer in time.'))
}

// Load a fragment into a place of the page; settles when it is there.
export function swapIn(address, target, swap) {
  return window.htmx.ajax('GET', address, { target, swap })
}

// Make a piece of the page what the server draws now; what has not changed stays as it is, and what
// somebody opened stays open.
export function morph(piece, html) {
  const beforeAttributeUpdated = (name, _, kind) => name !== 'open' || kind === 'update'
  window.Idiomorph.morph(piece, html, { callbacks: { beforeAttributeUpdated } })
  window.htmx.process(piece)
  enhance(piece)
}

function tell(name, detail) {
  document.dispatchEvent(new CustomEvent(name, { detail }))
}

// The old frame stays on the stage until the new one is decoded: a cut, never a flash.
let kept = null

function keepPicture(target) {
  if (target?.id !== 'stage') return
  kept = target.querySelector('.screen img:not(.under-image)')
  document.addEventListener('htmx:afterSwap', layUnder, { once: true })
}

function layUnder() {
  const fresh = document.querySelector('#stage .shot img')
  if (!fresh || !kept || fresh.complete) return
  kept.className = 'under-image'
  kept.alt = ''
  fresh.before(kept)
  const old = kept
  const done = () => old.remove()
  fresh.addEventListener('load', done, { once: true })
  fresh.addEventListener('error', done, { once: true })
}

// After a pressed "Load more" the first new item has the focus; an automatic load moves nothing.
let pressed = false
document.addEventListener('click', event => { pressed = !!event.target.closest?.('[data-load-more]') })

function focusFirstNew(event) {
  if (!pressed || !event.detail.elt.matches?.('[data-result]')) return
  pressed = false
  event.detail.elt.querySelector('a')?.focus()
}
