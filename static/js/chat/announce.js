// One message in seven seconds at most, the latest one.
const SAY_EVERY_MS = 7000
let said = -SAY_EVERY_MS
let next = ''
let timer = 0

export function announce(text) {
  next = text
  timer ||= setTimeout(() => {
    timer = 0
    said = performance.now()
    const place = document.querySelector('[data-chat-status]')
    if (place && next) place.textContent = next
  }, Math.max(0, said + SAY_EVERY_MS - performance.now()))
}
