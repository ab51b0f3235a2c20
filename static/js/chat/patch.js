// Takes over from a freshly drawn piece of the page what has changed in it. Pieces are known by
// data-key; one is replaced when its data-is differs, and one with data-pieces is looked through.

import { place } from '../events.js'

export function patch(old, fresh) {
  let before = null
  for (const piece of [...fresh.children]) {
    const known = [...old.children].find(each => each.dataset.key === piece.dataset.key)
    if ('words' in piece.dataset) { // words come by themselves
      before = known ?? before
      continue
    }
    if (!known) insert(old, before, piece)
    else if (known.dataset.is !== piece.dataset.is) replace(known, piece)
    else if ('pieces' in piece.dataset) patch(known, piece)
    // A piece that stays behind is connected, too: to the document it was read from.
    before = piece.parentNode === old ? piece : known
  }
}

function insert(old, before, piece) {
  if (before) before.after(piece)
  else old.prepend(piece)
  place(piece)
}

// An opened list stays open, and the focus does not fall out of the page.
function replace(known, piece) {
  const wasOpen = known.querySelector('details[open]:not(.always)')
  const hadFocus = known.contains(document.activeElement)
  known.replaceWith(piece)
  if (wasOpen) piece.querySelector('details')?.setAttribute('open', '')
  if (hadFocus) {
    piece.tabIndex = -1
    piece.focus()
  }
  place(piece)
}
