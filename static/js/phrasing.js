// The composer shows how it reads the time and the app in a question, before anything is sent, and
// sends the range that it showed. The grammar is loaded when somebody begins to type; until then,
// and without scripts, the server reads the words by the same rules.

import { all, onceEntered } from './dom.js'

export function enhance(root) {
  // What is selected on the timeline, else what it shows, is what @selection means in a question.
  for (const { dataset } of all(root, '[data-selection]')) {
    sessionStorage.setItem('selection', JSON.stringify({ start: +dataset.start, end: +dataset.end }))
  }
  for (const form of all(root, '[data-composer]')) {
    if (!form.dataset.reading) listen(form)
  }
}

function listen(form) {
  form.dataset.reading = ''
  const state = { choice: 0, text: null }
  let reading = null
  let loading = null
  const update = () => reading?.show(form, state)
  const load = () => {
    loading ??= import('./time/reading.js').then(module => { reading = module; update() })
  }
  onceEntered(form, load)
  form.addEventListener('input', update)
  form.addEventListener('change', update)
  form.addEventListener('submit', () => reading?.send(form, state), { capture: true })
  document.addEventListener('page:answered', update)
  form.querySelector('[data-understood]').addEventListener('click', event => {
    const chip = event.target.closest('[data-choice]')
    if (!chip) return
    state.choice = +chip.dataset.choice
    update()
    form.querySelector(`[data-choice="${state.choice}"]`).focus()
  })
  if (form.querySelector('textarea').value) load()
}
