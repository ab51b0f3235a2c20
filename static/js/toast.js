// One message at a time, for eight seconds, or for as long as the pointer rests on it.

const SHOWN_MS = 8000
let timer = 0

export function say(text) {
  const place = document.querySelector('[data-toast]')
  if (!place) return
  const message = document.createElement('p')
  message.textContent = text
  place.replaceChildren(message)
  const leave = () => { timer = setTimeout(() => message.remove(), SHOWN_MS) }
  clearTimeout(timer)
  leave()
  message.addEventListener('pointerenter', () => clearTimeout(timer))
  message.addEventListener('pointerleave', leave)
}
