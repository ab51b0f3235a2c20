// The browser decides the zone: its name travels as a cookie, and the page follows at once.

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
  if (cookie('tz') !== zone) {
    document.cookie = `tz=${zone}; path=/; max-age=${YEAR_S}; samesite=strict`
    const shown = document.querySelector('[data-zone]')
    const isOurs = shown && ['server', 'browser'].includes(shown.dataset.zoneOrigin)
    // Only when the cookie was really kept: a browser that refuses it would reload for ever.
    if (isOurs && shown.dataset.zone !== zone && cookie('tz') === zone) location.reload()
  }
  document.querySelectorAll('[data-zone]').forEach(doubt)
}

// Browser and server bring their own clocks and their own copies of the zone rules.
function doubt(chip) {
  const skew = Date.now() - chip.dataset.now
  const differs = offsetAt(chip.dataset.zone, +chip.dataset.at) !== chip.dataset.offsetMin * 60000
  const words = differs ? t('this browser knows another offset')
    : Math.abs(skew) > MAX_SKEW_MS ? t('clock differs by %(number)s min', { number: Math.round(Math.abs(skew) / 60000) }) : ''
  if (!words) return
  chip.classList.add('doubtful')
  chip.classList.remove('unscripted')
  chip.append(` – ${words}`)
}

function cookie(name) {
  return document.cookie.split('; ').find(each => each.startsWith(name + '='))?.slice(name.length + 1)
}
