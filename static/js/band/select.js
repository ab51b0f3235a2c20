// Selecting a stretch on the lane below the band: drag with the pointer, or move its two ends, which are
// native range inputs. The server draws what can be done with it; links on the page take it along.

import { swapIn } from '../events.js'

const REST_MS = 250
const STEPS_MS = [1000, 10000, 60000]
const DRAG_PX = 4

export function select(place, scrub, clock) {
  const lane = place.querySelector('[data-lane]')
  const ends = [...lane.querySelectorAll('input')]
  const bar = place.querySelector('[data-selected]')
  const low = +scrub.min
  const span = scrub.max - low
  const step = STEPS_MS.find(each => span / each <= 1500) ?? 60000
  let chosen = lane.dataset.to ? [+lane.dataset.from, +lane.dataset.to] : null
  let rest = 0

  const draw = () => {
    lane.classList.toggle('chosen', !!chosen)
    ends.forEach((input, n) => {
      input.hidden = !chosen
      if (!chosen) return
      input.step = step
      input.value = chosen[n]
      input.setAttribute('aria-valuetext', clock(chosen[n]))
    })
    const inside = (chosen ?? [low, low]).map(ms => 100 * Math.max(0, Math.min(1, (ms - low) / span)))
    bar.setAttribute('x', `${inside[0]}%`)
    bar.setAttribute('width', inside[1] > inside[0] ? `${inside[1] - inside[0]}%` : '0')
  }
  const commit = () => {
    clearTimeout(rest)
    rest = setTimeout(() => {
      carry(place, lane, chosen)
      const frame = place.querySelector('#stage').dataset.frame
      swapIn(lane.dataset.address.replace('frame=ID', frame ? `frame=${frame}` : ''), '#selection', 'outerHTML')
    }, REST_MS)
  }

  ends.forEach((input, n) => {
    input.addEventListener('input', () => {
      const other = chosen[1 - n]
      chosen[n] = n ? Math.max(+input.value, other + step) : Math.min(+input.value, other - step)
      draw()
    })
    input.addEventListener('change', commit)
  })
  drag(lane, {
    at: share => low + Math.round((share * span) / step) * step,
    move: (one, other) => { chosen = one === other ? null : [Math.min(one, other), Math.max(one, other)]; draw() },
    done: commit,
  })
  draw()
}

// A drag makes a new selection; a mere click on the lane changes nothing.
function drag(lane, { at, move, done }) {
  const moment = event => {
    const edge = lane.getBoundingClientRect()
    return at(Math.max(0, Math.min(1, (event.clientX - edge.left) / edge.width)))
  }
  lane.addEventListener('pointerdown', event => {
    if (event.target.matches('input') || event.button) return
    const first = moment(event)
    let moved = false
    const follow = later => {
      moved ||= Math.abs(later.clientX - event.clientX) > DRAG_PX
      if (moved) move(first, moment(later))
    }
    const end = () => {
      lane.removeEventListener('pointermove', follow)
      if (moved) done()
    }
    lane.setPointerCapture(event.pointerId)
    lane.addEventListener('pointermove', follow)
    lane.addEventListener('pointerup', end, { once: true })
    lane.addEventListener('pointercancel', end, { once: true })
  })
}

// Every link of the timeline, and what scrubbing loads, says the selection from now on.
function carry(place, lane, chosen) {
  const told = address => {
    const url = new URL(address, location.origin)
    for (const [n, name] of ['from', 'to'].entries()) {
      if (chosen) url.searchParams.set(name, chosen[n])
      else url.searchParams.delete(name)
    }
    return url.pathname + url.search
  }
  place.dataset.address = told(place.dataset.address)
  lane.dataset.address = told(lane.dataset.address)
  for (const link of place.querySelectorAll('a[href^="/timeline?"]')) link.setAttribute('href', told(link.getAttribute('href')))
}
