// The scrubber: a native range input over the band. Hover and drag show a small picture at once;
// after a rest the stage follows.

import { select } from './band/select.js'
import { all } from './dom.js'
import { renew } from './events.js'
import { isForPage } from './keys.js'
import { preview } from './previews.js'

const REST_MS = 120
const TEN_MINUTES_MS = 600000

export function enhance(root) {
  for (const place of all(root, '[data-timeline]')) {
    if (!place.dataset.ready) scrubber(place)
  }
}

function scrubber(place) {
  place.dataset.ready = 'yes'
  const input = place.querySelector('[data-scrub]')
  const box = input.parentElement
  const bubble = place.querySelector('[data-bubble]')
  const state = { marks: [], rest: 0, playing: 0, wheel: 0 }
  box.classList.add('scrubbing')
  fetch(place.dataset.marks).then(answer => answer.json()).then(found => {
    state.marks = found.marks
    if ('shown' in state) show(state.shown) // somebody was quicker than the marks
    if ('wanted' in state) settle(state.wanted)
  }, () => {})

  const show = ms => {
    state.shown = ms
    const mark = nearest(state.marks, ms)
    if (!mark) return
    state.over = mark[0]
    // Words, place and picture are of one frame: they change together, once the picture is there.
    preview(mark[0]).then(async url => {
      if (!url) return
      const picture = bubble.querySelector('img').cloneNode()
      picture.src = url
      await picture.decode() // until then the picture before would stand under this one's words
      if (state.over !== mark[0] || !('shown' in state)) return
      const share = (state.shown - input.min) / (input.max - input.min)
      const half = 90 / box.clientWidth
      bubble.style.setProperty('--bubble-x', `${100 * Math.max(half, Math.min(1 - half, share))}%`)
      bubble.querySelector('figcaption').textContent = `${clock(mark[1])}${mark[2] ? ' · ' + mark[2] : ''}`
      bubble.querySelector('img').replaceWith(picture)
      bubble.hidden = false
    }).catch(() => {}) // its picture went meanwhile
  }
  const hide = () => {
    delete state.shown
    bubble.hidden = true
  }
  const settle = ms => {
    state.wanted = ms
    clearTimeout(state.rest)
    state.rest = setTimeout(() => {
      const mark = nearest(state.marks, ms)
      if (!mark) return
      delete state.wanted
      if (place.querySelector('#stage').dataset.frame !== String(mark[0]) || running) open(place, mark[0])
    }, REST_MS)
  }

  input.addEventListener('input', () => { show(+input.value); settle(+input.value) })
  input.addEventListener('change', hide)
  box.addEventListener('pointermove', event => show(at(event, box, input)))
  box.addEventListener('pointerleave', hide)
  box.addEventListener('wheel', event => wheel(event, place, input, state, settle, show), { passive: false })
  input.addEventListener('keydown', event => key(event, place, input, state, settle))
  document.addEventListener('keydown', event => {
    const isStep = event.key === 'ArrowLeft' || event.key === 'ArrowRight'
    if (isStep && !event.target.matches('input') && isForPage(event)) key(event, place, input, state, settle)
  })
  select(place, input, clock)
}

function key(event, place, input, state, settle) {
  const stage = place.querySelector('#stage')
  const step = { ArrowLeft: 'previous', ArrowRight: 'next', ArrowDown: 'previous', ArrowUp: 'next' }[event.key]
  if (step) {
    const id = stage.dataset[event.shiftKey ? `${step}App` : step]
    if (id) open(place, id)
  } else if (event.key === 'PageUp' || event.key === 'PageDown') {
    input.value = +input.value + (event.key === 'PageUp' ? TEN_MINUTES_MS : -TEN_MINUTES_MS)
    settle(+input.value)
  } else if (event.key === 'Enter') {
    stage.querySelector('[data-open]')?.click()
  } else if (event.key === ' ') {
    play(place, state)
  } else {
    return // Home and End are the input's own
  }
  event.preventDefault()
}

function play(place, state) {
  if (state.playing) {
    clearInterval(state.playing)
    state.playing = 0
    return
  }
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches
  state.playing = setInterval(() => {
    const id = place.querySelector('#stage').dataset.next
    if (id) open(place, id)
    else play(place, state)
  }, still ? 1000 : 400)
}

// Wheel events come in bursts: they are added up and applied once a frame.
function wheel(event, place, input, state, settle, show) {
  event.preventDefault()
  if (event.ctrlKey) {
    if (!state.wheel) document.querySelector(`[data-key="${event.deltaY < 0 ? '+' : '-'}"]`)?.click()
    return
  }
  const delta = Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.deltaY
  if (!state.wheel) {
    requestAnimationFrame(() => {
      input.value = +input.value + (state.wheel / place.clientWidth) * (input.max - input.min) * 0.25
      state.wheel = 0
      show(+input.value)
      settle(+input.value)
    })
  }
  state.wheel += delta
}

let running = false
let queued = null

async function open(place, id) {
  if (running) {
    queued = id
    return
  }
  running = true
  try {
    const address = place.dataset.address.replace('ID', id)
    await renew(address) // the old picture stays until the new one is there
  } finally {
    running = false
    if (queued !== null) {
      const next = queued
      queued = null
      open(place, next)
    } else {
      follow(place, place.querySelector('[data-scrub]'))
    }
  }
}

// At rest the head stands where the frame is, and the slider says what it shows.
function follow(place, input) {
  const stage = place.querySelector('#stage')
  if (!stage?.dataset.ms) return
  const ms = +stage.dataset.ms
  if (ms < +input.min || ms >= +input.max) {
    location.assign(place.dataset.address.replace('ID', stage.dataset.frame))
    return
  }
  input.value = ms
  input.setAttribute('aria-valuetext', stage.dataset.text)
}

function nearest(marks, ms) {
  let low = 0
  let high = marks.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (marks[middle][1] < ms) low = middle + 1
    else high = middle
  }
  const before = marks[low - 1]
  return before && ms - before[1] < marks[low][1] - ms ? before : marks[low]
}

function at(event, box, input) {
  const edge = box.getBoundingClientRect()
  const share = Math.max(0, Math.min(1, (event.clientX - edge.left) / edge.width))
  return +input.min + share * (input.max - input.min)
}

function clock(ms) {
  const zone = document.querySelector('[data-zone]')?.dataset.zone
  return new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' }).format(ms)
}
