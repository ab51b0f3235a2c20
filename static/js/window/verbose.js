// While somebody wants it (Settings, Logging): the console says what each answer was about.

import { KEY } from './session.js'

const ASKED = 'chat-asked'
const watched = new WeakSet()

// From the first question on, which leads to a page where its answer may stand already.
export function tell(form) {
  const transcript = document.querySelector('#transcript')
  if (!form.dataset.chat) form.addEventListener('submit', () => sessionStorage.setItem(ASKED, 'first'))
  if (watched.has(transcript)) return
  watched.add(transcript)
  const isFirst = sessionStorage.getItem(ASKED) && transcript.querySelectorAll('[data-turn]').length === 1
  sessionStorage.removeItem(ASKED)
  const told = new Set(isFirst ? [] : finished(transcript).map(turn => turn.id))
  const look = () => {
    for (const turn of finished(transcript)) {
      if (told.has(turn.id)) continue
      told.add(turn.id)
      const session = Number(sessionStorage.getItem(KEY))
      const topic = document.querySelector('#topic-chip a')?.lastChild.textContent.trim() || 'none'
      const parts = [...turn.querySelectorAll('.answer > :not(.quote, .rest)')] // without the quotes under them
      const length = parts.reduce((sum, part) => sum + part.textContent.trim().length, 0)
      console.info('recollect context', { session, topic, length })
    }
  }
  look()
  new MutationObserver(look).observe(transcript, { childList: true, subtree: true, attributeFilter: ['aria-busy'] })
}

function finished(transcript) {
  return [...transcript.querySelectorAll('[data-turn]')].filter(turn => turn.getAttribute('aria-busy') !== 'true')
}
