// Follows a turn that runs on the server. Its event stream tells the whole turn as HTML (`turn`) and,
// between these, what was said since (`text`). The browser takes a lost connection up behind the last
// event that it heard. Leaving the page ends nothing.

import { announce } from './announce.js'
import { morph } from '../events.js'
import { t } from '../words.js'

const NEAR_END_PX = 80
const OPEN_AGAIN_MS = 2000
const followed = new WeakSet()

// `ended` is called with the turn once it is complete.
export function follow(article, ended) {
  if (followed.has(article)) return
  followed.add(article)
  const began = Date.now()
  let source = null
  let failures = 0
  document.addEventListener('visibilitychange', open)
  open()

  // A page that nobody sees hears nothing: browsers open six connections to a server, for all its pages.
  function open() {
    source?.close()
    if (document.hidden || !article.isConnected) return
    source = new EventSource(article.dataset.events)
    source.addEventListener('turn', event => take(JSON.parse(event.data)))
    source.addEventListener('text', event => say(JSON.parse(event.data)))
    source.onopen = () => lost(failures = 0)
    source.onerror = () => {
      lost(failures += 1)
      if (source.readyState === EventSource.CLOSED) setTimeout(open, OPEN_AGAIN_MS) // it was refused
    }
  }

  function close() {
    source.close()
    document.removeEventListener('visibilitychange', open)
  }

  function lost(times) {
    article.querySelector('[data-lost]')?.toggleAttribute('hidden', times < 2) // gone once it is answered
  }

  function take(html) {
    if (!html) return close() // deleted
    const isFollowed = isNearEnd()
    const before = { stage: stage(), waits: waits().length, hadFocus: article.contains(document.activeElement) }
    morph(article, html)
    attend(before)
    if (article.getAttribute('aria-busy') === 'true') {
      if (stage() !== before.stage) announce(stage())
      if (isFollowed) toEnd()
    } else {
      close()
      ended(article)
    }
  }

  function say(text) {
    const isFollowed = isNearEnd()
    append([...article.querySelectorAll('.draft')].at(-1), text)
    if (isFollowed) toEnd()
    else offerNew()
    announce(t('Writing, %(seconds)s s', { seconds: Math.round((Date.now() - began) / 1000) }))
  }

  // A decision takes the focus along: on to the next one, or to the question. One that is asked for
  // anew gets it where nobody is writing.
  function attend(before) {
    const next = waits()[0]
    if (before.hadFocus && document.activeElement === document.body) {
      (next ?? article.querySelector('h2')).focus({ preventScroll: true })
    } else if (waits().length > before.waits && !document.querySelector('#message')?.value) next.focus()
  }

  function stage() {
    return article.querySelector('[data-stage]')?.textContent
  }

  function waits() {
    return article.querySelectorAll('[data-waits]')
  }
}

// Lines are blocks of their own, so that the browser lays out no more than the last one.
function append(draft, text) {
  for (const piece of text.match(/[^\n]*\n|[^\n]+/g)) {
    const last = draft.lastElementChild.lastChild
    if (!last.data.endsWith('\n')) last.appendData(piece)
    else draft.append(Object.assign(document.createElement('div'), { textContent: piece }))
  }
}

function isNearEnd() {
  return document.documentElement.scrollHeight - innerHeight - scrollY <= NEAR_END_PX
}

function toEnd() {
  scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' })
}

// Somebody reads further up: a button says that there is more.
function offerNew() {
  const button = document.querySelector('[data-new-text]')
  if (!button?.hidden) return
  button.hidden = false
  const done = () => {
    button.hidden = true
    removeEventListener('scroll', look)
  }
  const look = () => { if (isNearEnd()) done() }
  button.onclick = () => { toEnd(); done() }
  addEventListener('scroll', look, { passive: true })
}
