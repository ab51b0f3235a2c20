// The browser decides the zone: its name travels as a cookie. The first page follows at once; any other stays
// where it is, under whoever reads or writes on it, and says that the next one will.

import { offsetAt } from './localtime.js'
import { t } from './words.js'

const YEAR_S = 31536000
const MAX_SKEW_MS = 60000

// Asking for it takes a while: the first time at once, later when the page stands.
export function agree() {
  if (!cookie('tz')) compare()
  else addEventListener('load', () => (window.requestIdleCallback ?? setTimeout)(compare))
}

function compare() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  if (!zone) return
  const before = cookie('tz')
  if (before !== zone) document.cookie = `tz=${zone}; path=/; max-age=${YEAR_S}; samesite=strict`
  // Only when the cookie was really kept: a browser that refuses it would reload for ever.
  const isNew = before !== zone && cookie('tz') === zone
  const follows = chip => isNew && ['server', 'browser'].includes(chip.dataset.zoneOrigin) && chip.dataset.zone !== zone
  const chips = [...document.querySelectorAll('[data-zone]')]
  if (!before && chips.some(follows)) location.reload()
  else chips.forEach(chip => doubt(chip, follows(chip) ? zone : ''))
}

// Browser and server bring their own clocks and their own copies of the zone rules; a person may have moved.
function doubt(chip, moved) {
  const skew = Date.now() - chip.dataset.now
  const differs = offsetAt(chip.dataset.zone, +chip.dataset.at) !== chip.dataset.offsetMin * 60000
  const words = moved ? t('this browser is in %(zone)s now; the next page shows its times', { zone: moved })
    : differs ? t('this browser knows another offset')
      : Math.abs(skew) > MAX_SKEW_MS ? t('clock differs by %(number)s min', { number: Math.round(Math.abs(skew) / 60000) }) : ''
  if (!words) return
  chip.classList.add('doubtful')
  chip.classList.remove('unscripted')
  chip.append(` – ${words}`)
}

function cookie(name) {
  return document.cookie.split('; ').find(each => each.startsWith(name + '='))?.slice(name.length + 1)
}
