// What a person calls a time, as a range: the mirror of assistant/language/time_phrases.py, where the
// grammar is drawn. A calendar is {now, zone, dayStartMin, weekStart}; weekStart 0 is Monday.
//
// Found:   {phrase, start, end, at, isClamped, isOpen, also, adjusted}; `at` is set for a moment
// Refused: {phrase, problem}

import { DAY_MS, dateAt, dayOn, wallAt, wallToMs } from '../localtime.js'
import { Refused } from './clock.js'
import { isClockRange, Reader } from './grammar.js'
import { lex, stripped } from './words.js'

export const MOMENT_MARGIN_MS = 300000
const SHORT_WEEKDAYS = ['mon', 'tue', 'tues', 'wed', 'thu', 'thur', 'thurs', 'fri', 'sat', 'sun']

// The range a whole text means; every word of it must be understood, fill words aside.
export function inField(text, calendar) {
  const tokens = lex(text)
  const reader = new Reader(tokens, 0, today(calendar), calendar.weekStart)
  const phrase = attempt(reader)
  if (phrase?.problem) return { phrase: stripped(text), problem: phrase.problem }
  if (!phrase || !reader.isAtEnd()) {
    return { phrase: leftOver(text, tokens, phrase ? reader.reached : 0), problem: 'unrecognised' }
  }
  return resolved(phrase, stripped(text), calendar)
}

// The range that a sentence names: its longest phrase that has one, widened if it is a moment. A
// phrase that cannot be is a refusal when there is no other; null when the sentence names no time.
export function inMessage(text, calendar) {
  const outcomes = inside(text, calendar)
  const found = outcomes.find(each => !each.problem)
  return found ? widened(found, calendar) : outcomes[0] ?? null
}

export function widened(found, calendar) {
  if (found.at === undefined) return found
  const { at, ...rest } = found
  return {
    ...rest,
    start: at - MOMENT_MARGIN_MS,
    end: Math.min(at + MOMENT_MARGIN_MS, calendar.now),
    also: rest.also.map(each => widened(each, calendar)),
  }
}

function today({ zone, now, dayStartMin }) {
  return dateAt(zone, now, dayStartMin)
}

function attempt(reader) {
  try {
    return reader.phrase()
  } catch (error) {
    if (error instanceof Refused) return { problem: error.problem }
    throw error
  }
}

// -- in a sentence --

function inside(text, calendar) {
  const tokens = lex(text)
  const on = today(calendar)
  const found = []
  for (let at = 0; at < tokens.length; at += 1) {
    if (!mayBegin(tokens, at)) continue
    const reader = new Reader(tokens, at, on, calendar.weekStart)
    const phrase = attempt(reader)
    const used = tokens.slice(at, reader.reached)
    if (!used.length || !phrase) continue
    const words = text.slice(used[0].start, used.at(-1).end)
    const isMention = used.some(token => token.text.startsWith('@'))
    const size = used.reduce((sum, token) => sum + token.size, 0)
    const { problem } = phrase
    found.push({ isMention, size, outcome: problem ? { phrase: words, problem } : resolved(phrase, words, calendar) })
  }
  return found.sort((one, other) => other.isMention - one.isMention || other.size - one.size)
    .map(({ outcome }) => outcome)
}

// Whether a sentence can mean a time here: not "the sun", not "these 3 may", not 一点.
function mayBegin(tokens, at) {
  const { kind, text, value } = tokens[at]
  const before = tokens[at - 1]
  const lead = before?.text.toLowerCase()
  const isLatin = /^[\x00-\x7f]*$/.test(text)
  if (kind === 'fill') return false
  // "after lunch" is not lunch; "since monday" was read as a whole
  if (['after', 'before', 'since', 'next'].includes(before?.kind)) return false
  if (kind === 'weekday' && SHORT_WEEKDAYS.includes(text.toLowerCase())) {
    return ['on', 'last', 'this'].includes(lead)
  }
  if (kind === 'date' && text.toLowerCase().includes('may')) return text.includes('May')
  if (kind === 'part' && isLatin) return before?.kind === 'fill'
  if (kind === 'clock' && value.isHan) return /^\p{Nd}/u.test(text)
  return kind !== 'number' || isClockRange(tokens, at)
}

function leftOver(text, tokens, at) {
  let left = tokens.slice(at).filter(token => token.kind !== 'fill')
  const unknown = at ? [] : left.filter(token => token.kind === 'unknown')
  if (unknown.length) left = unknown
  return left.length ? text.slice(left[0].start, left.at(-1).end) : stripped(text)
}

// -- from words to milliseconds --

function resolved(phrase, text, calendar) {
  const { now } = calendar
  if (phrase.elapsedMs) return { phrase: text, start: now - phrase.elapsedMs, end: now, also: [], adjusted: {} }
  const on = today(calendar)
  const implied = { first: on, last: on, isToday: true }
  const days = phrase.days?.length ? phrase.days : [implied]
  const [first, ...others] = days.map(each => reading(each, phrase, text, calendar))
  if (first.problem) return first
  return { ...first, also: [...first.also, ...others.filter(each => !each.problem)] }
}

function reading(which, phrase, text, calendar) {
  const { now, zone } = calendar
  if (which.first === which.last) {
    const [start, end] = dayOn(zone, which.first)
    if (start === end) return { phrase: text, problem: 'no_such_date' }
  }
  const found = phrase.times
    ? onTheClock(which, phrase.times, text, calendar)
    : wholeDays(which, text, calendar)
  if (found.problem) return found
  if (found.start >= now) return { phrase: text, problem: 'future' }
  if (phrase.isOpen) {
    const { at, ...rest } = found
    return { ...rest, end: now, isOpen: true, also: [] }
  }
  return found.end > now ? { ...found, end: now, isClamped: true } : found
}

function wholeDays(which, text, { zone, dayStartMin }) {
  const [start] = dayOn(zone, which.first, dayStartMin)
  const [, end] = dayOn(zone, which.last, dayStartMin)
  return { phrase: text, start, end, also: [], adjusted: {} }
}

// Clock times on the calendar date that the label names.
function onTheClock(which, times, text, { now, zone, dayStartMin }) {
  let on = which.first
  // "Today" in the small hours, before the day start: the hours just passed.
  if (which.isToday && times.start < dayStartMin) on = Math.floor(wallAt(zone, now) / DAY_MS) * DAY_MS
  const [start, startKind] = wall(on, times.start, zone)
  if (times.end === null) {
    const [again] = wall(on, times.start, zone, true)
    const moment = at => ({ phrase: text, start: at, end: at, at, also: [], adjusted: {} })
    const also = again === start ? [] : [moment(again)]
    return { ...moment(start), also, adjusted: named({ at: startKind }) }
  }
  const [end, endKind] = wall(on, times.end, zone, true)
  if (end <= start) return { phrase: text, problem: 'no_such_time' }
  return { phrase: text, start, end, also: [], adjusted: named({ start: startKind, end: endKind }) }
}

// [epoch milliseconds, gap or overlap or nothing] of minutes after a date's midnight
function wall(on, minute, zone, later = false) {
  const at = on + minute * 60000
  const first = wallToMs(zone, at)
  const second = wallToMs(zone, at, true)
  if (first !== second) return [later ? second : first, 'overlap']
  return [first, wallAt(zone, first) === at ? '' : 'gap']
}

function named(kinds) {
  return Object.fromEntries(Object.entries(kinds).filter(([, kind]) => kind))
}
