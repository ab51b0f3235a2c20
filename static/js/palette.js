// The palette. The server draws its rows; the last ones stay until the next arrive, and an answer that is
// overtaken is dropped. Keys pressed before the answer is there wait for it: they are about what was typed.

import { say } from './toast.js'
import { t } from './words.js'

const REST_MS = 60
const palette = document.querySelector('[data-palette]')
const input = palette?.querySelector('[role="combobox"]')
const list = palette?.querySelector('[role="listbox"]')
let waiting = null // for the answer to what is typed now
let entered = false
let steps = 0

export function openPalette() {
  if (!palette?.showPopover || palette.matches(':popover-open')) return
  document.querySelector('dialog:modal')?.close() // nothing beside it could be used
  document.querySelector('dialog:popover-open')?.hidePopover() // what had the focus gets it back
  input.value = ''
  palette.querySelector('[name="next"]').value = location.pathname + location.search
  palette.showPopover() // of a modal dialog the whole page would be styled anew
  input.focus()
  ask(0)
}

async function ask(rest) {
  waiting?.abort()
  entered = false
  steps = 0
  const mine = waiting = new AbortController()
  const query = new URLSearchParams({ q: input.value, day: document.body.dataset.day })
  try {
    await new Promise(resolve => setTimeout(resolve, rest))
    const answer = mine.signal.aborted || await fetch(`/palette?${query}`, { signal: mine.signal, priority: 'high' })
    const html = mine.signal.aborted || await answer.text()
    if (mine !== waiting) return
    if (!answer.ok) throw new Error(answer.status)
    list.replaceChildren(...new DOMParser().parseFromString(html, 'text/html').body.childNodes)
    list.scrollTop = 0
    choose(options().at(steps % Math.max(1, options().length)))
    waiting = null
    if (entered) chosen()?.click()
  } catch {
    if (mine !== waiting) return
    waiting = null
    list.replaceChildren()
    choose() // what is left would be about what was typed before
    say(t('The server cannot be reached. Is Recollect still running?'))
  }
}

function options() {
  return [...list.querySelectorAll('[role="option"]')]
}

function chosen() {
  return list.querySelector('[aria-selected="true"]')
}

function choose(option) {
  chosen()?.setAttribute('aria-selected', 'false')
  option?.setAttribute('aria-selected', 'true')
  option?.scrollIntoView({ block: 'nearest' })
  input.setAttribute('aria-activedescendant', option?.id ?? '')
}

function press(event) {
  if (event.isComposing) return
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step) {
    const rows = options()
    if (waiting) steps += step
    choose(rows.at((rows.indexOf(chosen()) + step) % rows.length))
  } else if (event.key === 'Enter') {
    if (waiting) entered = true
    else chosen()?.click()
  } else if (event.key === 'Tab') {
    return palette.hidePopover()
  } else {
    return
  }
  event.preventDefault()
}

input?.addEventListener('input', () => ask(REST_MS))
input?.addEventListener('keydown', press)
list?.addEventListener('click', event => {
  if (event.target.closest('[role="option"]')) palette.hidePopover() // it may lead to a part of this page
})
palette?.addEventListener('toggle', event => {
  if (event.newState === 'open') return
  waiting?.abort()
  waiting = null
})
