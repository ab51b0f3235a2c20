// Wall-clock fields travel as epoch milliseconds in hidden fields, so that an address means the same in
// every zone; their own values then stay at home.

import { all } from './dom.js'
import { fieldWall, wallToMs } from './localtime.js'

export function enhance(root) {
  for (const place of all(root, '[data-range]')) {
    if (place.dataset.ready) continue
    place.dataset.ready = 'yes'
    place.querySelectorAll('[data-range-start], [data-range-end]').forEach(field => field.removeAttribute('name'))
    const update = () => settle(place)
    place.addEventListener('change', update)
    update()
  }
}

function settle(place) {
  const isCustom = place.querySelector('[data-range-when]').value === 'custom'
  for (const [name, isLater] of [['start', false], ['end', true]]) {
    const wall = fieldWall(place.querySelector(`[data-range-${name}]`).value)
    const field = place.querySelector(`[data-range-${name}-ms]`)
    field.disabled = !isCustom || Number.isNaN(wall)
    field.value = field.disabled ? '' : wallToMs(place.dataset.zoneName, wall, isLater)
  }
}
