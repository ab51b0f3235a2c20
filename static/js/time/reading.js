// How the composer shows what a question says about time and app, and the range that goes with it.

import { DAY_MS, offsetAt, wallAt } from '../localtime.js'
import { readMentions } from './mentions.js'
import { inField, inMessage, widened } from './phrases.js'

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const PROBLEMS = {
  future: 'has not come yet',
  no_such_date: 'is no date here',
  no_such_time: 'is no time of day',
  no_selection: 'needs a range: look at one on the timeline, or choose one here',
  unrecognised: 'is not a time I know',
}

// {range, choices, app, problem}: what the words mean now.
function understand(form, { choice }) {
  const place = form.querySelector('[data-range]')
  const zone = place.dataset.zoneName
  const calendar = { now: Date.now(), zone, dayStartMin: +place.dataset.dayStart, weekStart: 0 }
  const message = form.querySelector('textarea').value
  const said = readMentions(message, JSON.parse(place.dataset.apps))
  const typed = place.querySelector('[data-range-phrase]').value
  const when = place.querySelector('[data-range-when]').value
  let found = null
  if (when === 'custom' && typed.trim()) {
    found = inField(typed, calendar)
    if (!found.problem) found = widened(found, calendar)
  } else if (!when && said.hasSelection) {
    found = { phrase: '@selection', problem: 'no_selection', also: [], ...selection() }
    if (found.end) delete found.problem
  } else if (!when) {
    found = inMessage(said.rest, calendar)
  }
  const choices = found && !found.problem ? [found, ...found.also] : []
  return { zone, found, choices, range: choices[choice] ?? choices[0] ?? null, app: said.app }
}

function selection() {
  return JSON.parse(sessionStorage.getItem('selection') ?? '{}')
}

export function show(form, state) {
  const text = form.querySelector('textarea').value + form.querySelector('[data-range-phrase]').value
  if (text !== state.text) state.choice = 0
  state.text = text
  const { zone, found, choices, range, app } = understand(form, state)
  const labels = choices.map(each => label(each, zone))
  const isTwice = new Set(labels).size < labels.length
  const chips = choices.map((each, number) => chip(
    `${number ? 'or ' : ''}${labels[number]}${isTwice ? ` ${offset(zone, each.start)}` : ''}`,
    choices.length > 1 ? { choice: number, pressed: each === range } : {},
  ))
  if (found?.problem) chips.push(chip(`“${found.phrase}” ${PROBLEMS[found.problem]}`, { doubtful: true }))
  if (found?.adjusted?.start || found?.adjusted?.end || found?.adjusted?.at) chips.push(chip('the clock changed then', {}))
  if (app) chips.push(chip(`in ${app}`, {}))
  const place = form.querySelector('[data-understood]')
  // Left alone while it says the same: a chip that is being pressed must stay the one that was.
  const words = `${state.choice} ${chips.map(each => each.textContent).join(' ')}`
  if (place.dataset.words !== words) place.replaceChildren(...chips)
  place.dataset.words = words
}

function chip(words, { choice, pressed, doubtful }) {
  const made = document.createElement(choice === undefined ? 'span' : 'button')
  made.className = `chip${pressed ? ' on' : ''}${doubtful ? ' doubtful' : ''}`
  made.textContent = words
  if (choice !== undefined) {
    made.type = 'button'
    made.dataset.choice = choice
    made.setAttribute('aria-pressed', String(pressed))
  }
  return made
}

// After range.js has filled the fields from the presets: the range that the words mean.
export function send(form, state) {
  const { range } = understand(form, state)
  if (!range) return
  for (const [name, ms] of [['start', range.start], ['end', range.end]]) {
    const field = form.querySelector(`[data-range-${name}-ms]`)
    field.disabled = false
    field.value = ms
  }
}

// "Fri 13 Nov 12:00–18:00, 6 h", "Today so far"
function label({ start, end, isClamped, isOpen }, zone) {
  const from = wallAt(zone, start)
  const to = wallAt(zone, end)
  const isWhole = from % DAY_MS === 0 && to % DAY_MS === 0
  const last = isWhole ? to - DAY_MS : to
  const isOneDay = Math.floor(from / DAY_MS) === Math.floor(last / DAY_MS)
  const days = isOneDay ? day(from) : `${day(from)} – ${day(last)}`
  const words = isWhole ? days
    : isOneDay ? `${days} ${clock(from)}–${clock(to)}` : `${day(from)} ${clock(from)} – ${day(to)} ${clock(to)}`
  return `${words}, ${duration(end - start)}${isClamped || isOpen ? ', so far' : ''}`
}

function day(wall) {
  const date = new Date(wall)
  return `${DAYS[date.getUTCDay()]} ${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`
}

function clock(wall) {
  return new Date(wall).toISOString().slice(11, 16)
}

function duration(ms) {
  const minutes = Math.round(ms / 60000)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours >= 48) return `${Math.round(hours / 24)} d`
  return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`
}

function offset(zone, ms) {
  const minutes = Math.round(offsetAt(zone, ms) / 60000)
  const two = number => String(Math.floor(number)).padStart(2, '0')
  return `UTC${minutes < 0 ? '-' : '+'}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`
}
