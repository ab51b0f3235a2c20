// Ways to hear of a turn. A line says each message to `follower.hear` and its end to `follower.lost`.

const TRY_AGAIN_LATER = 1013 // all sockets are taken

export function socket(follower, after) {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
  const ws = new WebSocket(`${scheme}://${location.host}/ws/chat/${follower.chat}`)
  const line = {
    close: () => ws.close(),
    resume: seq => {
      after = seq
      if (ws.readyState === WebSocket.OPEN) ws.send(JSON.stringify({ type: 'resume', turn: follower.n, after }))
    },
  }
  ws.onopen = () => line.resume(after)
  ws.onmessage = event => follower.hear(line, JSON.parse(event.data))
  ws.onclose = event => follower.lost(line, event.code === TRY_AGAIN_LATER)
  return line
}

export function stream(follower, after) {
  let source = null
  const line = { close: () => source.close(), resume: open }
  function open(seq) {
    source?.close()
    source = new EventSource(`${follower.address}/events?after=${seq}`)
    source.onmessage = event => follower.hear(line, JSON.parse(event.data))
    source.onerror = () => {
      source.close() // a new one begins behind what was heard
      follower.lost(line, false)
    }
  }
  open(after)
  return line
}

// The turn as it is drawn now.
export async function ask(address) {
  const answer = await fetch(address, { headers: { 'HX-Request': 'true' } })
  if (!answer.ok) throw Object.assign(new Error(answer.status), { isGone: answer.status === 404 })
  return new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('[data-turn]')
}
