// Enhances pages that already work: each module looks for its own data- attributes.

import * as chat from './chat.js'
import './copy.js'
import './dialogs.js'
import { listen } from './events.js'
import * as favicon from './favicon.js'
import * as keys from './keys.js'
import * as pictures from './pictures.js'
import * as prompts from './editing/prompts.js'
import * as range from './range.js'
import * as selection from './selection.js'
import * as strip from './strip.js'
import * as timeline from './timeline.js'
import * as zone from './zone.js'

const components = [favicon, pictures, range, strip, timeline, chat, selection, prompts]

// A page that refuses a form stands at the form's address: Back and Reload would ask to send it again.
const { page } = document.body.dataset
if (page) history.replaceState(history.state, '', page)

zone.agree()
keys.listen()
listen(root => components.forEach(component => component.enhance(root)))
document.querySelector('.settings-nav [aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' })
