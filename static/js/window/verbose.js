// While somebody wants it (Settings, Logging): the console says what each answer was about.

export function tell(session) {
  const transcript = document.querySelector('#transcript')
  const told = new Set(finished(transcript).map(turn => turn.id))
  const look = () => {
    for (const turn of finished(transcript)) {
      if (told.has(turn.id)) continue
      told.add(turn.id)
      const topic = document.querySelector('#topic-chip')?.textContent.trim() || 'none'
      const length = turn.querySelector('.answer')?.textContent.trim().length ?? 0
      console.info('recollect context', { session, topic, length })
    }
  }
  new MutationObserver(look).observe(transcript, { childList: true, subtree: true, attributeFilter: ['aria-busy'] })
}

function finished(transcript) {
  return [...transcript.querySelectorAll('[data-turn]')].filter(turn => turn.getAttribute('aria-busy') !== 'true')
}
