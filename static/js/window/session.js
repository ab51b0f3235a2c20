// The session of this window: opened when somebody begins to write, heard of while the page is there,
// closed when it is left. After a reload of the same chat it goes on; the server decides that.

export const KEY = 'chat-session'

export async function open(form) {
  if (form.dataset.session) return
  form.dataset.session = 'opening'
  const before = sessionStorage.getItem(KEY)
  const opened = await send(form, 'new', { chat_id: +form.dataset.chat || null, previous_session_id: before })
  if (!opened) {
    delete form.dataset.session // who writes again tries again
    return
  }
  const session = opened.session_id
  sessionStorage.setItem(KEY, session)
  form.elements.session_id.value = session
  live(form, session)
  form.dataset.session = session
}

function live(form, session) {
  const say = (what, more) => send(form, what, { session_id: session, ...more })
  const timer = setInterval(beat, form.dataset.heartbeatS * 1000)
  document.addEventListener('visibilitychange', look)
  addEventListener('pagehide', leave)
  addEventListener('pageshow', back)

  async function beat() {
    if (!form.isConnected) leave()
    else if ((await say('heartbeat'))?.state === 'closed') again()
  }

  function look() {
    say('visibility', { visible: !document.hidden })
  }

  function leave() {
    stop()
    say('close')
  }

  // The browser kept the page; its session was closed when it was left.
  function back(event) {
    if (event.persisted) again()
  }

  function again() {
    stop()
    removeEventListener('pageshow', back)
    delete form.dataset.session
    open(form)
  }

  function stop() {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', look)
    removeEventListener('pagehide', leave)
  }
}

// What the API answers, null where it does not; also sent from a page that goes.
async function send(form, what, body) {
  const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': form.elements.csrf_token.value }
  const given = { method: 'POST', keepalive: true, headers, body: JSON.stringify(body) }
  const answer = await fetch(`/api/v1/chat/${what}`, given).catch(() => null)
  return answer?.ok ? answer.json() : null
}
