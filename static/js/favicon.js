// The icon of the tab says what the recording light says.

export function enhance() {
  const light = document.querySelector('[data-favicon]')
  if (light) document.querySelector('link[rel="icon"]').href = light.dataset.favicon
}
