// What is said, to whom, and with which key.

const ADDRESS = /^http:\/\/(127\.0\.0\.1|localhost)(:[0-9]{1,5})?$/;
const MAX_TITLE = 1000;
const MAX_ADDRESS = 4000;

/** The pairing {address, token, copyId}, or null before there is one. */
export async function pairing() {
  const { pairing } = await chrome.storage.local.get("pairing");
  return pairing ?? null;
}

/** Keep a pairing after it was tried. Throws an Error with a sentence for the person. */
export async function pair(address, token) {
  if (!ADDRESS.test(address)) throw new Error("The address must look like http://127.0.0.1:8420");
  if (!token) throw new Error("The token is missing");
  const known = await pairing();
  const chosen = { address, token, copyId: known?.copyId ?? crypto.randomUUID() };
  const { windows } = await say(chosen);
  await chrome.storage.local.set({ pairing: chosen });
  return windows;
}

/**
 * Tell all ordinary windows. Resolves to {windows, text_door}: their number, and where the text of pages is
 * asked for; to {}, saying nothing, before a pairing.
 */
export async function say(to = null) {
  const known = to ?? (await pairing());
  if (!known) return {};
  const windows = await ordinaryWindows();
  const answer = await fetch(`${known.address}/api/v1/browser-windows`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${known.token}` },
    body: JSON.stringify({ copy_id: known.copyId, browser: browserName(), windows }),
    credentials: "omit",
    redirect: "error",
  });
  if (answer.status === 401) throw new Error("Recollect does not know this token");
  if (!answer.ok) throw new Error(`Recollect answered ${answer.status}`);
  return answer.json();
}

async function ordinaryWindows() {
  const all = await chrome.windows.getAll({
    populate: true,
    windowTypes: ["normal", "popup", "app", "devtools"],
  });
  const shown = all.filter((window) => !window.incognito && window.state !== "minimized");
  return shown.flatMap((window) => (window.tabs ?? []).filter((tab) => tab.active).map(inFront));
}

function inFront(tab) {
  const url = (tab.url ?? "").slice(0, MAX_ADDRESS);
  return { title: (tab.title || url).slice(0, MAX_TITLE), url };
}

/** The browser's own name: the brand that is neither the engine nor filler. */
function browserName() {
  const brands = (navigator.userAgentData?.brands ?? []).map(({ brand }) => brand);
  const own = brands.filter((brand) => brand !== "Chromium" && !/not.*brand/i.test(brand));
  return own[0] ?? "Chromium";
}
