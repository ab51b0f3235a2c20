// The session of this window: opened when somebody begins to write, heard of while the page is there,
// closed when it is left. After a reload of the same chat it goes on; the server decides that.

import { tell } from './verbose.js'

const KEY = 'chat-session'

export async function open(form) {
  if (form.dataset.session) return
  form.dataset.session = 'opening'
  const answer = await send(form, '', { chat: form.dataset.chat, session: sessionStorage.getItem(KEY) ?? '' })
  if (!answer?.ok) {
    delete form.dataset.session // who writes again tries again
    return
  }
  const { session, every_s: everyS } = await answer.json()
  sessionStorage.setItem(KEY, session)
  form.elements.session_id.value = session
  live(form, session, everyS * 1000)
  if ('verbose' in form.dataset) tell(session)
  form.dataset.session = session
}

function live(form, session, everyMs) {
  const say = what => send(form, `/${session}/${what}`)
  const timer = setInterval(beat, everyMs)
  document.addEventListener('visibilitychange', look)
  addEventListener('pagehide', leave)
  addEventListener('pageshow', back)

  async function beat() {
    if (!form.isConnected) leave()
    else if ((await say('seen'))?.status === 409) again()
  }

  function look() {
    say(document.hidden ? 'hidden' : 'shown')
  }

  // Nothing else is sent for certain from a page that goes. It cannot carry headers: the token
  // travels in the form.
  function leave() {
    stop()
    navigator.sendBeacon(`/chat/windows/${session}/closed`, filled(form, {}))
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

function send(form, path, values = {}) {
  return fetch(`/chat/windows${path}`, { method: 'POST', body: filled(form, values) }).catch(() => null)
}

function filled(form, values) {
  const data = new FormData()
  data.set('csrf_token', form.elements.csrf_token.value)
  for (const [name, value] of Object.entries(values)) data.set(name, value)
  return data
}
