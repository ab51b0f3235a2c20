// The browser decides the zone: its name travels as a cookie, and the page follows at once.

const YEAR_S = 31536000

export function agree() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  if (!zone) return
  if (cookie('tz') !== zone) {
    document.cookie = `tz=${zone}; path=/; max-age=${YEAR_S}; samesite=strict`
    const shown = document.querySelector('[data-zone]')
    const isOurs = shown && ['server', 'browser'].includes(shown.dataset.zoneOrigin)
    // Only when the cookie was really kept: a browser that refuses it would reload for ever.
    if (isOurs && shown.dataset.zone !== zone && cookie('tz') === zone) location.reload()
  }
}

function cookie(name) {
  return document.cookie.split('; ').find(each => each.startsWith(name + '='))?.slice(name.length + 1)
}
