// From wall time to epoch milliseconds with Intl alone. A wall time is written as if it were UTC;
// each offset that the zone has a day before, at and a day after it is tried, and those that read
// back as the same wall time are kept: one is exact, two an overlap, none a gap (the offset before
// the gap then moves it forward). The same vectors bind this file and store/core/times.py.

export const DAY_MS = 86400000
const formats = new Map()

function format(zone) {
  if (!formats.has(zone)) {
    formats.set(zone, new Intl.DateTimeFormat('en-US', {
      timeZone: zone, hourCycle: 'h23', era: 'short', year: 'numeric', month: 'numeric', day: 'numeric',
      hour: 'numeric', minute: 'numeric', second: 'numeric',
    }))
  }
  return formats.get(zone)
}

// The clock of a zone at an instant, as if it were UTC.
export function wallAt(zone, ms) {
  const part = {}
  for (const { type, value } of format(zone).formatToParts(ms)) part[type] = +value
  return Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second)
}

export function offsetAt(zone, ms) {
  return wallAt(zone, ms) - Math.floor(ms / 1000) * 1000
}

// Epoch milliseconds of a wall time; `later` picks the second of two.
export function wallToMs(zone, wall, later = false) {
  const offsets = [-DAY_MS, 0, DAY_MS].map(step => offsetAt(zone, wall + step))
  const found = [...new Set(offsets)].map(offset => wall - offset)
    .filter(ms => wallAt(zone, ms) === Math.floor(wall / 1000) * 1000)
  if (!found.length) return wall - offsets[0]
  return later ? Math.max(...found) : Math.min(...found)
}

// What a <input type=datetime-local> holds, as if it were UTC; NaN when it is empty.
export function fieldWall(value) {
  return value ? Date.parse(`${value.length === 16 ? value + ':00' : value}Z`) : NaN
}
