// Single keys, off while typing and when switched off in Settings. Actions carry data-key; what
// they do is a click on a link or button that is there anyway.

import { copy } from './copy.js'
import { openPalette } from './palette.js'

export function listen() {
  for (const button of document.querySelectorAll('[data-open-palette]')) {
    button.addEventListener('click', openPalette)
  }
  // Where nothing is searched or asked yet one types at once; a phone would show its keyboard over the page.
  if (matchMedia('(pointer: fine)').matches) document.querySelector('#q[value=""], .start ~ form #message')?.focus()
  document.addEventListener('keydown', event => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      openPalette()
      return
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && event.target.closest('#q, [data-result]') && walk('[data-hit]', step)) return event.preventDefault()
    if (isForPage(event) && press(event.key)) event.preventDefault()
  })
}

function press(key) {
  const name = key.length === 1 ? key.toLowerCase() : key
  const field = document.querySelector(`[data-focus-key="${CSS.escape(name)}"]`)
  if (field) return field.closest('details')?.setAttribute('open', ''), field.focus(), field.select?.(), true
  const sheet = document.querySelector(`[data-sheet="${CSS.escape(name)}"]`)
  if (sheet) return sheet.showPopover(), sheet.querySelector('input')?.select(), true
  const action = document.querySelector(`[data-key="${CSS.escape(name)}"]:not([aria-disabled])`)
  if (action) return action.click(), true
  if (name === 't') return (location.href = '/timeline'), true
  if (name === 'j' || name === 'k') return walk('[data-turn] h2', name === 'j' ? 1 : -1)
  if (name === 'n' || name === 'p') return walk('[data-hit]', name === 'n' ? 1 : -1)
  if (name === 'c') return copyHere()
  return false
}

function walk(selector, step) {
  const stops = [...document.querySelectorAll(selector)]
  if (!stops.length) return false
  const at = stops.findIndex(stop => stop === document.activeElement || stop.dataset?.current === '')
  stops.forEach(stop => delete stop.dataset.current)
  const next = stops[Math.max(0, Math.min(stops.length - 1, at < 0 && step < 0 ? stops.length - 1 : at + step))]
  next.dataset.current = ''
  next.focus()
  next.scrollIntoView({ block: 'nearest' })
  return true
}

function copyHere() {
  const cited = citationOf(document.activeElement)
  const button = document.querySelector('[data-copy]')
  if (cited) copy(cited.dataset.citation, cited.getAttribute('href'))
  else if (button) copy(button.dataset.copy, button.dataset.copyLink)
  return !!(cited || button)
}

// The citation that the focus is on, or that its number in the answer stands for.

function citationOf(active) {
  if (!active?.matches('.answer .cite')) return active?.closest('[data-citation]')
  const anchor = `${active.closest('[data-turn]').id}e${active.lastChild.data}`
  return document.querySelector(`#${anchor} [data-citation]`)
}

// Whether a key is for the page: nobody types, no dialog is open, and single keys are on.
export function isForPage(event) {
  return !(event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event) ||
    document.body.dataset.singleKeys === 'off' || document.querySelector('dialog:is([open], :popover-open)'))
}

function isTyping({ target, key }) {
  // No question begins with a slash, and an empty field for one may have the focus by itself.
  if (key === '/' && target.matches('[data-composer] textarea:placeholder-shown')) return false
  if (!target.checkVisibility()) return false // a field that was closed keeps the focus until the page is drawn again
  return target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName) ||
    (target.tagName === 'INPUT' && !['range', 'checkbox', 'radio', 'button', 'submit'].includes(target.type))
}
