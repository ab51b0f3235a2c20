// @mentions that are no words for a time: @selection, @app:Code, @Code. The mirror of
// assistant/turns/admission.py; gives {app, hasSelection, rest}.

const AT = /(?<![A-Za-z0-9_.+-])@(app:)?/gi
const SELECTION = /selection(?![A-Za-z0-9])|选区/iy
const NAMED = /"([^"\n]{1,100})"|([^\s",，。;；:：?？!！]{1,100})/y

export function readMentions(message, apps) {
  const longestFirst = [...apps].sort((one, other) => other.length - one.length || (one < other ? -1 : 1))
  const rest = []
  let app = null
  let hasSelection = false
  let at = 0
  for (const found of message.matchAll(AT)) {
    if (found.index < at) continue
    const start = found.index + found[0].length
    let end = null
    let name = null
    SELECTION.lastIndex = start
    if (!found[1] && SELECTION.test(message)) {
      hasSelection = true
      end = SELECTION.lastIndex
    } else if (app === null) {
      [name, end] = appAt(message, start, longestFirst, Boolean(found[1]))
    }
    if (end === null) continue
    app ??= name
    rest.push(message.slice(at, found.index))
    at = end
  }
  return { app, hasSelection, rest: rest.length ? [...rest, message.slice(at)].join(' ') : message }
}

function appAt(message, at, longestFirst, isExplicit) {
  for (const name of longestFirst) {
    const end = at + name.length
    const written = message.slice(at, end).toLowerCase()
    const folded = name.toLowerCase()
    if (name && [folded, folded.replaceAll(' ', '-')].includes(written) && ends(message, end)) return [name, end]
  }
  NAMED.lastIndex = at
  const named = isExplicit ? NAMED.exec(message) : null
  return named ? [named[1] ?? named[2], NAMED.lastIndex] : [null, null]
}

// Whether no Latin word runs on here.
function ends(message, end) {
  return !/^[A-Za-z0-9]{2}/.test(message.slice(end - 1, end + 1))
}
