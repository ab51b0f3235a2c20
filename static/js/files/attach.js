// Files for a question: chosen, dropped or pasted, uploaded at once, shown as chips until they are sent.
// Without scripts the form carries them itself.

import { t } from '../words.js'

const MAX_BYTES = 25_000_000

let form = null
let waiting = 0
let wantsToSend = false

export function attach(given) {
  form = given
  waiting = 0
  const input = field()
  const button = form.querySelector('[data-attach]')
  button.hidden = false
  button.addEventListener('click', () => input.click())
  const chosen = () => {
    take(input.files)
    input.value = '' // what is uploaded does not go with the form once more
  }
  input.addEventListener('change', chosen)
  for (const chip of find('[data-files]').children) ready(chip)
  chosen() // before this script came
  form.querySelector('textarea').addEventListener('paste', event => {
    if (!event.clipboardData.files.length) return
    event.preventDefault()
    take(event.clipboardData.files)
  })
}

// -- dropped anywhere on the page -------------------------------------------------------------------

const brings = event => form?.isConnected && event.dataTransfer?.types.includes('Files')

document.addEventListener('dragover', event => {
  if (!brings(event)) return
  event.preventDefault()
  event.dataTransfer.dropEffect = 'copy'
  form.dataset.dropping = ''
})
document.addEventListener('dragleave', event => {
  if (!event.relatedTarget) delete form?.dataset.dropping
})
document.addEventListener('drop', event => {
  if (!brings(event)) return
  event.preventDefault()
  delete form.dataset.dropping
  take(event.dataTransfer.files)
})

// -- one file ---------------------------------------------------------------------------------------

function take(files) {
  for (const file of files) {
    if (file.size > MAX_BYTES) tell(t('%(name)s is larger than %(number)s MB.', { name: file.name, number: MAX_BYTES / 1e6 }))
    else upload(file)
  }
}

function upload(file) {
  const own = form
  const chip = find('[data-file-chip]').content.firstElementChild.cloneNode(true)
  for (const place of chip.querySelectorAll('[data-file-name]')) place.textContent = file.name
  find('[data-files]').append(chip)
  ready(chip)
  const request = new XMLHttpRequest()
  const bar = chip.querySelector('progress')
  request.upload.addEventListener('progress', event => {
    if (event.lengthComputable) bar.value = event.loaded / event.total
  })
  request.addEventListener('loadend', () => {
    const answer = read(request)
    if (own !== form) return
    waiting -= 1
    if (request.status === 201) {
      const box = chip.querySelector('input')
      box.value = answer.id
      box.disabled = false
      bar.hidden = true
      tell(t('%(name)s attached.', { name: file.name }), false)
    } else {
      chip.remove()
      wantsToSend = false
      if (!chip.dataset.gone) tell(refusal(answer, file.name))
    }
    if (!waiting && wantsToSend) send()
  })
  chip.addEventListener('file:removed', () => request.abort())
  waiting += 1
  tell(t('Uploading %(name)s…', { name: file.name }), false)
  request.open('POST', form.dataset.upload)
  request.send(body(file))
}

// The API speaks English; in another language its code tells which sentence is meant.
function refusal(answer, name) {
  if (answer.detail && document.documentElement.lang === 'en') return answer.detail
  if (answer.code === 'unsupported_media_type')
    return t('%(name)s cannot be attached: only text, HTML, PDF, Word (docx) and PNG, JPEG or WebP images can be attached.', { name })
  if (answer.code === 'attachment_refused') return t('%(name)s cannot be attached: it cannot be read.', { name })
  return t('%(name)s could not be uploaded.', { name })
}

function body(file) {
  const data = new FormData()
  data.set('csrf_token', form.elements.csrf_token.value)
  data.set('file', file)
  return data
}

function read(request) {
  try {
    return JSON.parse(request.responseText)
  } catch {
    return {}
  }
}

function ready(chip) {
  const button = chip.querySelector('[data-file-remove]')
  button.hidden = false
  chip.querySelector('input').hidden = true
  button.addEventListener('click', () => {
    const id = chip.querySelector('input').value
    chip.dataset.gone = 'yes'
    chip.dispatchEvent(new Event('file:removed'))
    chip.remove()
    tell(t('%(name)s removed.', { name: chip.querySelector('[data-file-name]').textContent }), false)
    form.querySelector('textarea').focus()
    // One that an earlier question has stays there (409); one of nobody goes after a day in any case.
    if (id) fetch(`${form.dataset.upload}/${id}`, { method: 'DELETE', headers: { 'X-CSRF-Token': form.elements.csrf_token.value } })
  })
}

// -- sending ----------------------------------------------------------------------------------------

// The question waits for its files. Before every other listener: nothing else hears of it until then.
document.addEventListener('submit', event => {
  if (event.target !== form || !waiting) return
  event.preventDefault()
  event.stopImmediatePropagation()
  wantsToSend = true
  tell(t('Goes out when its files are uploaded.'))
}, { capture: true })

document.addEventListener('page:answered', event => {
  if (event.detail.elt !== form || event.detail.status !== 200) return
  find('[data-files]').replaceChildren()
  tell('')
})

function send() {
  wantsToSend = false
  form.requestSubmit()
}

function field() {
  return form.querySelector('input[type=file]')
}

function find(selector) {
  return form.querySelector(selector)
}

// What went well is said and shows itself; what did not is also to be read.
function tell(text, isShown = true) {
  const place = find('[data-files-state]')
  place.textContent = text
  place.classList.toggle('hush', !isShown)
}
