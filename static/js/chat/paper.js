// What a model says, put down as it comes: text is appended to the last line and never touched again.
// Lines are blocks of their own, so that the browser lays out no more than the last one.

const EVERY_MS = 50
const NEAR_END_PX = 80

export class Paper {
  constructor(steps) {
    this.steps = steps
    this.waiting = []
    this.painted = 0
  }

  say(part, text) {
    this.waiting.push([part, text])
    this.timer ??= setTimeout(() => requestAnimationFrame(() => this.paint()),
      Math.max(0, this.painted + EVERY_MS - performance.now()))
  }

  paint() {
    clearTimeout(this.timer)
    this.timer = null
    this.painted = performance.now()
    if (!this.waiting.length) return
    const isFollowed = isNearEnd()
    for (const [part, text] of this.waiting) append(this.draft(part), text)
    this.waiting = []
    if (isFollowed) toEnd()
    else offerNew()
  }

  // The words of a turn that was drawn anew, as far as they are not here yet.
  catchUp(fresh) {
    this.paint()
    for (const draft of fresh.querySelectorAll('[data-words]')) {
      const part = +draft.dataset.words
      this.say(part, draft.textContent.slice(this.draft(part).textContent.length))
    }
    this.paint()
  }

  stage(article, text) {
    const place = article.querySelector('[data-stage]')
    if (place && place.textContent !== text) place.textContent = text
  }

  draft(part) {
    const known = this.steps.querySelector(`[data-key="d${part}"]`)
    if (known) return known
    const draft = document.createElement('div')
    draft.className = 'draft'
    draft.dataset.key = `d${part}`
    draft.dataset.words = part
    this.steps.append(draft)
    return draft
  }
}

function append(draft, text) {
  for (const piece of text.match(/[^\n]*\n|[^\n]+/g) ?? []) {
    const last = draft.lastElementChild?.lastChild
    if (last && !last.data.endsWith('\n')) last.appendData(piece)
    else {
      const line = document.createElement('div')
      line.append(document.createTextNode(piece))
      draft.append(line)
    }
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
