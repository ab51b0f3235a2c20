// Clock times of a phrase in minutes after midnight: the mirror of assistant/language/time_words.py.

import { EVENING } from './words.js'

// Understood, and not possible: future, no_such_date, no_such_time.
export class Refused extends Error {
  constructor(problem) {
    super(problem)
    this.problem = problem
  }
}

// {start, end} in minutes; beyond 1440 is the next day. What one end leaves open it shares with the
// other, if that makes sense.
export function clockRange(first, part, last, lastPart, isNamed) {
  let end = minuteOf(last, lastPart)
  let start = minuteOf(first, part)
  if (last.half && !first.half && !first.isHan) {
    const shared = isTwelve(first) ? minuteOf({ ...first, half: last.half }, null) : start
    if (shared <= end) start = shared
  } else if (first.half && !last.half && end <= start) {
    const later = isTwelve(last) ? ['am', 'pm'].map(half => minuteOf({ ...last, half }, null)) : []
    end = later.find(each => each > start) ?? end
  } else if (lastPart && !isNamed && end <= start && last.hour < 12 && !lastPart.addsTwelve) {
    if (end + 720 > start) end += 720
  }
  if (end === start) throw new Refused('no_such_time')
  return { start, end: end > start ? end : end + 1440, isPart: false }
}

const isTwelve = clock => clock.hour >= 1 && clock.hour <= 12

export function minuteOf({ hour, minute, half }, part) {
  if (minute > 59 || hour > 24 || (hour === 24 && minute) || (half && !isTwelve({ hour }))) {
    throw new Refused('no_such_time')
  }
  if (half) return (hour % 12 + (half === 'pm' ? 12 : 0)) * 60 + minute
  return (hour + shift(hour, part)) * 60 + minute
}

// Hours that a part of the day adds to the hour said with it.
function shift(hour, part) {
  if (!part) return 0
  if (part.end <= 360) return hour === 12 ? -12 : 0 // 凌晨12点
  if (part.start >= EVENING.start && (hour === 12 || hour < 5)) return hour === 12 ? 12 : 24 // 晚上12点
  const isAfterNoon = part.addsTwelve || (part.end === 780 && hour < 5) // 中午1点
  return isAfterNoon && hour < 12 ? 12 : 0
}
