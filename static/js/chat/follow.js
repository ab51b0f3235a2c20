// Follows a turn that runs on the server: over a socket, else an event stream, else by asking every
// two seconds. Every message has a number; what was heard is not heard again, and after a drop the
// next connection begins behind it. Leaving the page ends nothing.

import { announce, ended } from '../chat.js'
import { place } from '../events.js'
import { Paper } from './paper.js'
import { patch } from './patch.js'
import { ask, socket, stream } from './ways.js'

const TRIES = 3 // of a way that never says anything, before the next one
const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 1000
const ASK_EVERY_MS = 2000
const WAYS = [socket, stream, null]
const followers = new Map()

export function follow(article) {
  const known = followers.get(article.id)
  if (known?.article === article) return
  if (known) known.come(article)
  else followers.set(article.id, new Follower(article))
}

// A turn that came back complete, as after Stop.
export function leave(article) {
  const known = followers.get(article.id)
  known?.close()
  if (known) ended(article)
}

class Follower {
  constructor(article) {
    this.chat = +article.dataset.chat
    this.n = +article.dataset.turn
    this.address = `/chat/${this.chat}/turns/${this.n}`
    this.way = 0
    this.failures = 0
    this.began = Date.now()
    this.hide = () => (document.hidden ? this.hangUp() : this.open())
    document.addEventListener('visibilitychange', this.hide)
    this.move(article)
    this.open()
  }

  // The turn as the server draws it now: what it holds was heard.
  move(article) {
    this.article = article
    this.seq = +article.dataset.seq
    this.isMissing = false
    this.told = article.querySelector('[data-stage]').textContent
    this.paper = new Paper(article.querySelector('.steps'))
    this.line?.resume(this.seq)
  }

  // It came back from a decision, which took the focus along: on to the next one, or to the question.
  come(article) {
    this.move(article)
    if (document.activeElement !== document.body) return
    const next = article.querySelector('[data-waits]') ?? article.querySelector('h2')
    next.focus({ preventScroll: true })
  }

  open() {
    this.hangUp()
    if (document.hidden || this.isOver) return
    const way = WAYS[this.way]
    if (way) this.line = way(this, this.seq)
    else this.poll()
  }

  hangUp() {
    clearTimeout(this.timer)
    const line = this.line
    this.line = null // first: what it says while it closes is not for us
    line?.close()
  }

  close() {
    this.isOver = true
    this.hangUp()
    document.removeEventListener('visibilitychange', this.hide)
    followers.delete(this.article.id)
  }

  // A line went. `isRefused`: all places are taken, so asking now and then has to do.
  lost(line, isRefused) {
    if (line !== this.line) return
    this.line = null
    this.failures += 1
    if (isRefused) this.way = WAYS.length - 1
    else if (this.failures >= TRIES) this.next()
    if (this.failures > 1) this.paper.stage(this.article, 'Reconnecting, still working on the server')
    const wait = Math.min(FIRST_WAIT_MS * 2 ** (this.failures - 1), LONGEST_WAIT_MS)
    this.timer = setTimeout(() => this.open(), wait)
  }

  next() {
    this.way = Math.min(this.way + 1, WAYS.length - 1)
    this.failures = 0
  }

  hear(line, message) {
    if (line !== this.line || message.type === 'refused' || message.seq <= this.seq) return
    if (this.failures) this.paper.stage(this.article, this.told)
    this.failures = 0
    if (message.seq > this.seq + 1) { // one is missing: ask once for all that follow
      if (!this.isMissing) line.resume(this.seq)
      this.isMissing = true
      return
    }
    this.isMissing = false
    this.seq = message.seq
    if (message.type === 'text') this.said(message)
    else if (message.type === 'status' || message.type === 'shortened') this.stage(message.message)
    else if (message.type === 'final') this.finish()
    else if (['tool', 'approve', 'evidence'].includes(message.type)) this.refresh(message.type === 'approve')
  }

  said(message) {
    this.paper.say(message.part, message.text)
    this.told = this.article.querySelector('[data-stage]').dataset.writing
    this.paper.stage(this.article, this.told)
    announce(`Writing, ${Math.round((Date.now() - this.began) / 1000)} s`)
  }

  stage(text) {
    this.told = text
    this.paper.stage(this.article, text)
    announce(text)
  }

  // Cards are drawn by the server; only those that changed are taken over.
  async refresh(isAsking) {
    this.isAsking ||= isAsking
    if (this.fetching) return void (this.isStale = true)
    this.fetching = true
    do {
      this.isStale = false
      await this.fetchCards()
    } while (this.isStale && !this.isOver)
    this.fetching = false
  }

  async fetchCards() {
    const { article } = this
    try {
      const fresh = await ask(this.address)
      if (!this.isOver && article === this.article) this.take(fresh, false)
    } catch {
      this.isStale = false // the next event asks again, and the end brings the whole
    }
  }

  take(fresh, withText) {
    if (fresh.getAttribute('aria-busy') !== 'true') return this.replace(fresh)
    if (withText) {
      this.seq = +fresh.dataset.seq
      this.paper.catchUp(fresh)
      this.stage(fresh.querySelector('[data-stage]').textContent)
    }
    for (const name of ['.steps', '.found']) patch(this.article.querySelector(name), fresh.querySelector(name))
    if (this.isAsking) this.attend()
  }

  // A decision is asked for: who is not writing is brought to it.
  attend() {
    this.isAsking = false
    if (document.querySelector('#message')?.value) return
    this.article.querySelector('[data-waits]')?.focus()
  }

  async finish() {
    this.paper.paint()
    this.hangUp()
    this.way = WAYS.length - 1
    await this.poll()
  }

  async poll() {
    try {
      const fresh = await ask(this.address)
      if (this.isOver) return
      this.isAsking ||= fresh.querySelectorAll('[data-waits]').length > this.article.querySelectorAll('[data-waits]').length
      this.take(fresh, true)
    } catch (error) {
      if (error.isGone) return this.close()
      this.paper.stage(this.article, 'The server cannot be reached. Trying again…')
    }
    if (!this.isOver && !document.hidden) this.timer = setTimeout(() => this.poll(), ASK_EVERY_MS)
  }

  replace(fresh) {
    this.close()
    this.article.replaceWith(fresh)
    place(fresh)
    ended(fresh)
  }
}
