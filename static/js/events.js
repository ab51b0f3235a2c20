// The one place that knows htmx: its event names change with version 4. Others hear page: events
// and call `swapIn`, `morph` and `renew`.

import { say } from './toast.js'
import { t } from './words.js'

let enhance = () => {}

export function listen(given) {
  enhance = given
  enhance(document)
  document.addEventListener('htmx:load', event => enhance(event.detail.elt))
  document.addEventListener('htmx:afterSettle', focusFirstNew)
  document.addEventListener('htmx:afterRequest', event => {
    tell('page:answered', { elt: event.detail.elt, status: event.detail.xhr.status })
  })
  document.addEventListener('htmx:beforeSwap', tellOnItsOwnPage)
  document.addEventListener('htmx:sendError', unreachable)
  document.addEventListener('htmx:timeout', () => say(t('The server did not answer in time.')))
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

// Make pieces of the page, each known by its id, what the server draws of them at an address. htmx has
// 120 ms of script for it on a slow machine, which the next key waits for.
export async function renew(address) {
  const answer = await fetch(address, { headers: { 'HX-Request': 'true' } }).catch(unreachable)
  if (!answer) return
  if (!answer.ok) return location.assign(address)
  const drawn = new DOMParser().parseFromString(await answer.text(), 'text/html')
  for (const piece of [...drawn.body.children]) morph(document.getElementById(piece.id), piece)
  const shown = answer.headers.get('HX-Replace-Url')
  if (shown) history.replaceState(history.state, '', shown)
}

function unreachable() {
  say(t('The server cannot be reached. Is Recollect still running?'))
}

// A refusal has nothing of the page that is asked for: selecting from it would empty the page.
function tellOnItsOwnPage(event) {
  const { elt } = event.detail.requestConfig
  if (event.detail.xhr.status < 400 || !elt.matches('[hx-select]')) return
  event.detail.shouldSwap = false
  location.assign(elt.href)
}

function tell(name, detail) {
  document.dispatchEvent(new CustomEvent(name, { detail }))
}

// After a pressed "Load more" the first new item has the focus; an automatic load moves nothing.
let pressed = false
document.addEventListener('click', event => { pressed = !!event.target.closest?.('[data-load-more]') })

function focusFirstNew(event) {
  if (!pressed || !event.detail.elt.matches?.('[data-result]')) return
  pressed = false
  event.detail.elt.querySelector('a')?.focus()
}
