// From the words of a time phrase to what they mean on a calendar, before any zone: the mirror of
// assistant/language/time_phrases.py. A date is its midnight in UTC, as a number.

import { DAY_MS } from '../localtime.js'
import { clockRange, minuteOf, Refused } from './clock.js'
import { EVENING } from './words.js'

const UNIT_MS = { minute: 60000, hour: 3600000 }
const UNIT_DAYS = { day: 1, week: 7 }
const MAX_DAYS = 3660
const FIRST_YEAR = 1971
const LAST_YEAR = 9000
const LEAP_CYCLE_YEARS = 8 // 29 February comes at least this often
const DAY_KINDS = ['day', 'evening', 'future', 'weekday', 'week-weekday', 'week', 'month', 'date']

const weekdayOf = date => (new Date(date).getUTCDay() + 6) % 7
const oneDay = (on, isToday = false) => ({ first: on, last: on, isToday })

// Recursive descent over tokens from one place on; `reached` is behind the last word used.
// phrase() gives {days, times, elapsedMs, isOpen}: `days` are the readings, likeliest first.
export class Reader {
  constructor(tokens, at, today, weekStart) {
    Object.assign(this, { tokens, at, reached: at, today, weekStart })
  }

  phrase() {
    const mark = this.mark()
    for (const rule of ['rolling', 'openEnd', 'dateRange', 'plain']) {
      const found = this[rule]()
      if (found) return found
      this.back(mark)
    }
    return null
  }

  isAtEnd() {
    return this.peek() === null
  }

  // -- tokens --

  peek() {
    while (this.tokens[this.at]?.kind === 'fill') this.at += 1
    return this.tokens[this.at]?.kind ?? null
  }

  take(...kinds) {
    if (!kinds.includes(this.peek())) return null
    this.at += 1
    this.reached = this.at
    return this.tokens[this.at - 1]
  }

  mark() {
    return [this.at, this.reached]
  }

  back([at, reached]) {
    this.at = at
    this.reached = reached
  }

  // -- phrases --

  rolling() {
    const mention = this.take('elapsed')
    if (mention) return { elapsedMs: mention.value }
    const lead = this.take('last', 'past', 'next')
    const number = lead && this.take('number')
    const unit = lead && this.take('unit')
    if (lead?.kind === 'next' && (unit || this.take('weekday'))) {
      this.times()
      throw new Refused('future')
    }
    if (!lead || !unit) return null
    if (lead.kind === 'last' && !number && ['week', 'month'].includes(unit.value)) {
      return { days: [unit.value === 'week' ? this.week(1) : this.month(1)] }
    }
    return this.countedBack(number ? number.value : 1, unit.value)
  }

  countedBack(count, unit) {
    if (UNIT_MS[unit]) {
      const elapsedMs = Math.round(count * UNIT_MS[unit])
      return elapsedMs > 0 && elapsedMs <= MAX_DAYS * DAY_MS ? { elapsedMs } : null
    }
    const length = count * (UNIT_DAYS[unit] ?? 0)
    if (!Number.isInteger(length) || length <= 0 || length > MAX_DAYS) return null
    return { days: [{ first: this.ago(length - 1), last: this.today }], isOpen: true }
  }

  openEnd() {
    const lead = this.take('since', 'from', 'after')
    const inner = lead && this.plain()
    if (!inner) return null
    const isMoment = inner.times && inner.times.end === null
    const isClockRange = inner.times && !isMoment && !inner.times.isPart
    if (lead.kind === 'from' && isClockRange) return inner
    if (isMoment || (lead.kind === 'since' && !isClockRange)) {
      return { days: inner.days.slice(0, 1), times: inner.times, isOpen: true }
    }
    return null
  }

  dateRange() {
    const first = this.take('date')
    const dash = first && this.take('dash')
    const last = dash && this.take('date')
    if (!last) return null
    const days = { first: this.dated(first), last: this.dated(last) }
    if (days.last < days.first) throw new Refused('no_such_date')
    return { days: [days] }
  }

  // A day with or without times, in either order; times alone are today's.
  plain() {
    let [days, evening] = this.days()
    if (days.length && days[0].first !== days[0].last) return { days }
    let times = this.times(evening)
    if (times && !days.length) {
      let laterEvening
      [days, laterEvening] = this.days()
      if (laterEvening) times = null
    }
    return days.length || times ? { days, times } : null
  }

  // -- days --

  // [readings of a day, week or month; the part of day its word brings along]
  days() {
    const token = this.take(...DAY_KINDS)
    if (!token) return [this.pointed(), null]
    const { kind, value } = token
    if (kind === 'future') {
      this.times()
      throw new Refused('future')
    }
    if (kind === 'day' || kind === 'evening') {
      return [[oneDay(this.ago(value), value === 0)], kind === 'evening' ? EVENING : null]
    }
    if (kind === 'week') return [[this.week(value)], null]
    if (kind === 'month') return [[this.month(value)], null]
    if (kind === 'date') return [[oneDay(this.dated(token))], null]
    if (kind === 'weekday') return [[oneDay(this.ago((weekdayOf(this.today) - value + 7) % 7))], null]
    return [[oneDay(this.inWeek(value.back, value.weekday))], null]
  }

  // "this morning", "this week", "this Friday", "last Friday"
  pointed() {
    const mark = this.mark()
    const lead = this.take('this', 'last')
    if (lead?.kind === 'this' && this.peek() === 'part') return [oneDay(this.today, true)]
    const unit = lead?.kind === 'this' ? this.take('unit') : null
    if (unit && ['week', 'month'].includes(unit.value)) {
      return [unit.value === 'week' ? this.week(0) : this.month(0)]
    }
    const weekday = lead && !unit ? this.take('weekday') : null
    if (!weekday) {
      this.back(mark)
      return []
    }
    if (lead.kind === 'this') return [oneDay(this.inWeek(0, weekday.value))]
    return this.lastWeekday(weekday.value)
  }

  // The most recent one before today; one of this week may also mean the week before.
  lastWeekday(weekday) {
    const on = this.ago((weekdayOf(this.today) - weekday + 6) % 7 + 1)
    return (on >= this.week(0).first ? [on, on - 7 * DAY_MS] : [on]).map(each => oneDay(each))
  }

  ago(count) {
    return this.today - count * DAY_MS
  }

  week(back) {
    const first = this.ago((weekdayOf(this.today) - this.weekStart + 7) % 7 + 7 * back)
    return { first, last: first + 6 * DAY_MS }
  }

  inWeek(back, weekday) {
    return this.week(back).first + (weekday - this.weekStart + 7) % 7 * DAY_MS
  }

  month(back) {
    const today = new Date(this.today)
    const first = at => Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + at, 1)
    return { first: first(-back), last: first(1 - back) - DAY_MS }
  }

  // The date named; without a year the most recent one that exists.
  dated({ value: { year, month, day } }) {
    const latest = year ?? new Date(this.today).getUTCFullYear()
    for (let each = latest; each >= (year ?? latest - LEAP_CYCLE_YEARS); each -= 1) {
      const isOurs = each >= FIRST_YEAR && each <= LAST_YEAR && month >= 1 && month <= 12 && day >= 1
      if (!isOurs || new Date(Date.UTC(each, month, 0)).getUTCDate() < day) continue
      const found = Date.UTC(each, month - 1, day)
      if (year || found <= this.today) return found
    }
    throw new Refused('no_such_date')
  }

  // -- times --

  // [part] clock ["-" [part] clock], or a part of the day alone
  times(part = null) {
    part = this.take('part')?.value ?? part
    const first = this.clock()
    if (!first) return part && { start: part.start, end: part.end, isPart: true }
    const mark = this.mark()
    const dash = this.take('dash')
    const other = dash && this.take('part')
    const last = dash && this.take('clock')
    if (!last) {
      this.back(mark)
      return { start: minuteOf(first, part), end: null, isPart: false }
    }
    return clockRange(first, part, last.value, other ? other.value : part, Boolean(other))
  }

  clock() {
    const token = this.take('clock')
    if (!token && isClockRange(this.tokens, this.at)) {
      return { hour: this.take('number').value, minute: 0, half: '', isHan: false }
    }
    return token ? token.value : null
  }
}

// "9-11am": a whole number is a clock time when a dash and a clock time follow.
export function isClockRange(tokens, at) {
  const kinds = tokens.slice(at, at + 3).map(token => token.kind).join(' ')
  return kinds === 'number dash clock' && Number.isInteger(tokens[at].value)
}
