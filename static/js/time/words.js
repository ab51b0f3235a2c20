// The words of time phrases, English and Chinese, as tokens: the mirror of
// assistant/language/time_words.py. One set of vectors binds both.

const MORNING = { start: 360, end: 720 }
export const EVENING = { start: 1080, end: 1440, addsTwelve: true }

const DAY_PARTS = [
  ['凌晨', { start: 0, end: 360 }],
  ['morning|早上|早晨|上午|清晨', MORNING],
  ['noon|lunch(?:time)?|中午', { start: 660, end: 780 }],
  ['afternoon|下午', { start: 720, end: 1080, addsTwelve: true }],
  ['傍晚', { start: 1020, end: 1140, addsTwelve: true }],
  ['evening|晚上', EVENING],
  ['night|深夜|夜里', { start: 1200, end: 1680, addsTwelve: true }],
]
const WEEKDAYS = ['monday|mon', 'tuesday|tues?', 'wednesday|wed', 'thursday|thu(?:rs?)?', 'friday|fri',
  'saturday|sat', 'sunday|sun']
const UNITS = [
  ['minute', 'minutes?|mins?|分钟'],
  ['hour', 'hours?|hrs?|个?小时|个?钟头'],
  ['day', 'days?|天'],
  ['week', 'weeks?|个?星期|个?礼拜|周'],
  ['month', 'months?|个月'],
]
const HAN_DIGITS = '零一二三四五六七八九'
const HAN_NUMBER = '[零〇一二两三四五六七八九十]'
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const MONTH_NAME = '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?'
  + '|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)'
const DAY_NUMBER = '(?<d>\\d{1,2})(?:st|nd|rd|th)?'
const YEAR_BEHIND = '(?:,? (?<y>\\d{4}))?(?!:)'
const COUNT = `(?:\\d{1,2}|${HAN_NUMBER}{1,3})`
const WEEK = '(?:周|星期|礼拜)'
const HAN_WEEKDAY = '[一二三四五六日天]'

function hanDigit(character) {
  return character === '两' ? 2 : character === '〇' ? 0 : HAN_DIGITS.indexOf(character)
}

// "12", "1.5", 十二, 二十四, 两
function hanNumber(text) {
  if (/^\d/.test(text)) return Number(text)
  const ten = text.lastIndexOf('十')
  if (ten < 0) return Number([...text].map(hanDigit).join(''))
  const tens = text.slice(0, ten)
  const ones = text.slice(ten + 1)
  const digit = run => (run.length === 1 && run !== '十' ? hanDigit(run) : null)
  return 10 * (tens ? digit(tens) ?? 1 : 1) + (ones ? digit(ones) ?? 0 : 0)
}

const ups = text => [...text].filter(each => each === '上').length
const weekday = found => Math.min('一二三四五六日天'.indexOf(found[0].at(-1)), 6)

function date({ groups: { y, m, d } }) {
  const month = /^\d/.test(m) ? Number(m) : MONTHS.indexOf(m.slice(0, 3)) + 1
  return { year: y ? Number(y) : null, month, day: Number(d) }
}

function clock({ groups: { h, min, half } }) {
  return { hour: Number(h), minute: Number(min ?? 0), half: (half ?? '').replaceAll('.', ''), isHan: false }
}

function hanClock({ groups: { h, past } }) {
  const minute = past === '半' ? 30 : past === '一刻' ? 15 : past ? hanNumber(past.replace(/分+$/, '')) : 0
  return { hour: hanNumber(h), minute, half: '', isHan: true }
}

// Latin letters and digits must not run on before or behind the pattern.
function word(kind, pattern, read) {
  const bounded = `(?:(?<![a-z0-9])(?=[a-z0-9])|(?![a-z0-9]))(?:${pattern})`
    + '(?:(?<=[a-z0-9])(?![a-z0-9])|(?<![a-z0-9]))'
  return [kind, new RegExp(bounded, 'y'), typeof read === 'function' ? read : () => read]
}

// "@today" in a message, and no part of an address of mail.
const AT = '(?<![a-z0-9_.+-])@'

const WORDS = [
  word('day', 'today|今天|今日', 0),
  word('day', 'yesterday|昨天|昨日', 1),
  word('day', 'day before yesterday|前天', 2),
  word('day', '大前天', 3),
  word('day', `${AT}(?:today|今天)`, 0),
  word('day', `${AT}(?:yesterday|昨天)`, 1),
  word('elapsed', `${AT}(?:last-hour|最近一小时)`, 3600000),
  word('day', '今(?=[早晚])', 0),
  word('day', '昨(?=[晚夜])', 1),
  word('evening', 'tonight', 0),
  word('evening', 'last night', 1),
  word('part', '(?<=今)早', MORNING),
  word('part', '(?<=[今昨])[晚夜]', EVENING),
  word('future', 'tomorrow|明[天日早晚]|大?后天'),
  word('future', `下+个?${WEEK}${HAN_WEEKDAY}?|下+个?月`),
  ...DAY_PARTS.map(([words, part]) => word('part', words, part)),
  ...WEEKDAYS.map((words, number) => word('weekday', words, number)),
  word('weekday', WEEK + HAN_WEEKDAY, weekday),
  word('week-weekday', `(?<back>[本这]|上+)个?${WEEK}${HAN_WEEKDAY}`,
    found => ({ back: ups(found.groups.back), weekday: weekday(found) })),
  word('week', `(?<back>[本这]|上+)个?${WEEK}`, found => ups(found.groups.back)),
  word('month', '(?<back>[本这]|上+)个?月', found => ups(found.groups.back)),
  word('date', '(?<y>\\d{4})[-/](?<m>\\d{1,2})[-/](?<d>\\d{1,2})', date),
  word('date', '(?:(?<y>\\d{4})年)?(?<m>\\d{1,2})月(?<d>\\d{1,2})[日号]', date),
  word('date', `(?<m>${MONTH_NAME})\\.? ${DAY_NUMBER}${YEAR_BEHIND}`, date),
  word('date', `${DAY_NUMBER} (?:of )?(?<m>${MONTH_NAME})${YEAR_BEHIND}`, date),
  word('clock', '(?<h>\\d{1,2}):(?<min>\\d{2})(?: ?(?<half>[ap]\\.?m)\\.?)?', clock),
  word('clock', '(?<h>\\d{1,2}) ?(?<half>[ap]\\.?m)\\.?', clock),
  word('clock', `(?<h>${COUNT})点(?<past>半|一刻|${COUNT}分?)?`, hanClock),
  word('number', `\\d+(?:\\.\\d+)?(?![.\\d]*[/:\\d])|${HAN_NUMBER}{1,3}`, found => hanNumber(found[0])),
  word('number', `(?<n>${COUNT})个半(?=小时|钟头)`, found => hanNumber(found.groups.n) + 0.5),
  word('number', 'half(?: an?)?|半个?(?=小时|钟头)', 0.5),
  ...UNITS.map(([name, words]) => word('unit', words, name)),
  word('last', 'last'),
  word('past', 'past|最近|过去|近'),
  word('this', 'this'),
  word('next', 'next'),
  word('dash', '[-–—~]|到|至|to|until|till'),
  word('since', 'since|自从'),
  word('from', 'from|从'),
  word('after', 'after'),
  word('before', 'before'),
  word('fill', 'the|at|in|on|of|的|在|,'),
  // Not understood, and not to be taken for a shorter word that is.
  word('unknown', `[本这上下]*个?周末|weekends?|${WEEK}年`),
  word('unknown', '[早晚]上好|下午好|good (?:morning|afternoon|evening|night)'),
  word('unknown', '\\d+(?:/\\d+)+'),
]
const ANYTHING = /[a-z]+|\d+(?:[./:-]\d+)*|./suy

// What Python takes for white space: the separators too, and not the byte order mark.
const SPACE = /^(?!\ufeff)[\s\x1c-\x1f\x85]$/

export function stripped(text) {
  const characters = [...text]
  const first = characters.findIndex(each => !SPACE.test(each))
  const last = characters.findLastIndex(each => !SPACE.test(each))
  return first < 0 ? '' : characters.slice(first, last + 1).join('')
}

// All tokens of a text in order; `text.slice(start, end)` is what was written, `size` its normal form.
export function lex(text) {
  const { normal, origin } = normalised(text)
  const tokens = []
  for (let at = 0; at < normal.length;) {
    if (normal[at] === ' ') {
      at += 1
      continue
    }
    const [kind, value, end] = longest(normal, at)
    const start = origin[at][0]
    const last = origin[end - 1][1]
    tokens.push({ kind, value, start, end: last, size: end - at, text: text.slice(start, last) })
    at = end
  }
  return tokens
}

// NFKC, lower case, white space collapsed; and where each character was: [start, end).
function normalised(text) {
  let normal = ''
  const origin = []
  let at = 0
  for (const raw of text) {
    for (const character of raw.normalize('NFKC').toLowerCase()) {
      const space = SPACE.test(character)
      if (space && (!normal || normal.endsWith(' '))) continue
      normal += space ? ' ' : character
      for (let unit = 0; unit < character.length; unit += 1) origin.push([at, at + raw.length])
    }
    at += raw.length
  }
  return { normal, origin }
}

function longest(text, at) {
  let best = null
  for (const [kind, pattern, read] of WORDS) {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found && (!best || pattern.lastIndex > best[2])) best = [kind, read(found), pattern.lastIndex]
  }
  if (best) return best
  ANYTHING.lastIndex = at
  ANYTHING.exec(text)
  return ['unknown', null, ANYTHING.lastIndex || at + 1]
}
