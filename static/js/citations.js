// A citation shows its proof where it stands: the cropped words of its card, under the pointer or
// the focus. The first tap shows it, the second opens the frame; without scripts a click opens it.

import { all } from './dom.js'

const IN_MS = 150
const OUT_MS = 300
const GAP_PX = 8

let box = null
let owner = null
let timer = 0
let touched = false

export function enhance(root) {
  for (const link of all(root, '.answer .cite')) {
    const card = cardOf(link)
    if (!card || link.dataset.ready) continue
    link.dataset.ready = 'yes'
    link.setAttribute('aria-label', `Source ${link.textContent}: ${card.querySelector('.name').textContent.trim()}`)
    link.addEventListener('pointerenter', event => { if (event.pointerType !== 'touch') later(() => show(link, card), IN_MS) })
    link.addEventListener('pointerleave', event => { if (event.pointerType !== 'touch') later(hide, OUT_MS) })
    link.addEventListener('focus', () => { if (!touched) later(() => show(link, card), IN_MS) })
    link.addEventListener('blur', () => { if (!touched) later(hide, OUT_MS) })
    link.addEventListener('click', event => {
      if (!touched || owner === link) return
      event.preventDefault()
      show(link, card)
    })
  }
}

addEventListener('pointerdown', event => {
  touched = event.pointerType === 'touch'
  if (owner && !event.target.closest?.('.cite, .preview')) hide()
}, true)
addEventListener('keydown', event => {
  touched = false
  if (event.key !== 'Escape' || !owner) return
  hide()
  event.preventDefault()
}, true)
addEventListener('scroll', () => { if (owner) place() }, { passive: true, capture: true })

export function cardOf(link) {
  const turn = link.closest('[data-turn]')
  return turn && document.getElementById(`${turn.id}e${link.textContent.trim()}`)
}

function later(act, ms) {
  clearTimeout(timer)
  timer = setTimeout(act, ms)
}

function show(link, card) {
  clearTimeout(timer)
  if (owner === link) return
  hide()
  box ??= make()
  box.replaceChildren(...[...card.querySelectorAll('.thumb, .name, .window, .said, .state')].map(part => part.cloneNode(true)))
  document.getElementById('main').append(box) // inside the landmark, for screen readers
  box.showPopover?.()
  owner = link
  link.setAttribute('aria-describedby', box.id)
  place()
}

function make() {
  const made = document.createElement('div')
  made.className = 'preview'
  made.id = 'preview'
  made.popover = 'manual'
  made.setAttribute('role', 'tooltip')
  made.addEventListener('pointerenter', () => clearTimeout(timer))
  made.addEventListener('pointerleave', () => later(hide, OUT_MS))
  return made
}

// Beside the number, above it where there is more room, never off the screen.
function place() {
  const at = owner.getBoundingClientRect()
  const { offsetWidth: width, offsetHeight: height } = box
  const left = Math.max(GAP_PX, Math.min(innerWidth - width - GAP_PX, at.left + at.width / 2 - width / 2))
  const fits = at.bottom + GAP_PX + height < innerHeight || at.top < height
  box.style.setProperty('left', `${left}px`)
  box.style.setProperty('top', `${fits ? at.bottom + GAP_PX : at.top - height - GAP_PX}px`)
}

function hide() {
  clearTimeout(timer)
  owner?.removeAttribute('aria-describedby')
  owner = null
  box?.remove()
}
