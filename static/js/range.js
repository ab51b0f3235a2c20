// A chosen range travels as epoch milliseconds: hidden fields are filled from the preset or the
// wall-clock fields, whose own values then stay at home.

import { all } from './dom.js'
import { dayAt, fieldWall, wallAt, wallToMs } from './localtime.js'

const MINUTE_MS = 60000

export function enhance(root) {
  for (const place of all(root, '[data-range]')) {
    if (place.dataset.ready) continue
    place.dataset.ready = 'yes'
    place.querySelectorAll('[data-range-start], [data-range-end]').forEach(field => field.removeAttribute('name'))
    const update = () => settle(place)
    place.addEventListener('change', update)
    // Just before it is sent, "today" and "the last two hours" mean now.
    place.closest('form').addEventListener('submit', update, { capture: true })
    update()
  }
}

export function bounds(when, zone, now, dayStartMin) {
  const today = dayAt(zone, now, 0, dayStartMin)
  const back = days => dayAt(zone, now, days, dayStartMin)[0]
  const sinceMonday = (new Date(wallAt(zone, today[0])).getUTCDay() + 6) % 7
  return {
    '30m': () => [now - 30 * MINUTE_MS, now],
    '2h': () => [now - 120 * MINUTE_MS, now],
    today: () => [today[0], now],
    yesterday: () => [back(1), today[0]],
    week: () => [back(sinceMonday), now],
    '7d': () => [back(6), now],
  }[when]?.() ?? null
}

function settle(place) {
  const zone = place.dataset.zoneName
  const when = place.querySelector('[data-range-when]').value
  const field = name => place.querySelector(`[data-range-${name}]`)
  let range = null
  if (when === 'custom') {
    const start = fieldWall(field('start').value)
    const end = fieldWall(field('end').value)
    range = [
      Number.isNaN(start) ? null : wallToMs(zone, start),
      Number.isNaN(end) ? null : wallToMs(zone, end, true),
    ]
  } else if (place.dataset.range === 'always') {
    range = bounds(when, zone, Date.now(), +place.dataset.dayStart)
  }
  put(field('start-ms'), range?.[0])
  put(field('end-ms'), range?.[1])
}

function put(field, ms) {
  field.disabled = ms == null
  field.value = ms ?? ''
}
