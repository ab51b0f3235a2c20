// Small pictures for scrubbing. Frames are never cached by the browser (they must not outlive a
// deletion), so a bounded set of object URLs lives as long as the page does and no longer.

const LIMIT = 240
const urls = new Map()
let asked = { id: null } // the one under way: asked for again it is waited for, and another one ends it

export function preview(id) {
  if (urls.has(id)) return Promise.resolve(urls.get(id))
  if (asked.id === id) return asked.answer
  asked.control?.abort()
  const control = new AbortController()
  asked = { id, control, answer: load(id, control.signal) }
  return asked.answer
}

async function load(id, signal) {
  try {
    const answer = await fetch(`/api/v1/frames/${id}?width=160`, { signal })
    if (!answer.ok) return null
    keep(id, URL.createObjectURL(await answer.blob()))
    return urls.get(id)
  } catch {
    return null // aborted by the next one, or the server is away: the stage will say so
  } finally {
    if (asked.id === id) asked = { id: null }
  }
}

function keep(id, url) {
  urls.set(id, url)
  if (urls.size <= LIMIT) return
  const [oldest, stale] = urls.entries().next().value
  URL.revokeObjectURL(stale)
  urls.delete(oldest)
}

addEventListener('pagehide', () => {
  urls.forEach(url => URL.revokeObjectURL(url))
  urls.clear()
})
