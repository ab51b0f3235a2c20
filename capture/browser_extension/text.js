// The text of pages, for the pictures that Recollect keeps: if the person switched it on, and on request.

export const PAGES = { origins: ["http://*/*", "https://*/*"] };
const SCRIPT = { id: "page", js: ["page.js"], matches: PAGES.origins, runAt: "document_start" };
const ALIVE_MS = 20_000; // a worker without any word for 30 s is ended by the browser

let socket = null;
let listening = ""; // the address of `socket`

/** Whether the person switched it on: the permission for pages is the switch. */
export const isOn = () => chrome.permissions.contains(PAGES);

/** Have every page note when it changes, from its beginning. */
export async function watchPages() {
  const known = await chrome.scripting.getRegisteredContentScripts({ ids: [SCRIPT.id] });
  const wanted = await isOn();
  if (wanted && !known.length) await chrome.scripting.registerContentScripts([SCRIPT]);
  if (!wanted && known.length) await chrome.scripting.unregisterContentScripts({ ids: [SCRIPT.id] });
}

/** Listen where Recollect asks, told as {port, key, word}; to nobody where that is null. */
export async function listenTo(door) {
  const address = door && (await isOn()) ? `ws://127.0.0.1:${door.port}/${door.key}` : "";
  if (address === listening) return;
  listening = address;
  socket?.close();
  socket = address ? open(address, door.word) : null;
}

function open(address, word) {
  const opened = new WebSocket(address);
  const alive = setInterval(() => opened.readyState === WebSocket.OPEN && opened.send(""), ALIVE_MS);
  opened.onmessage = async ({ data }) => {
    const request = JSON.parse(data);
    if (request.word !== word) return opened.close(); // not who wrote the address down
    const pages = await pagesOf(request.titles);
    if (opened.readyState === WebSocket.OPEN) opened.send(JSON.stringify({ id: request.id, pages }));
  };
  opened.onclose = () => {
    clearInterval(alive);
    if (socket === opened) [socket, listening] = [null, ""];
  };
  return opened;
}

/** The pages in front in the windows of these titles. */
async function pagesOf(titles) {
  const tabs = await chrome.tabs.query({ active: true });
  const asked = tabs.filter((tab) => !tab.incognito && tab.title && titles.some((title) => title.includes(tab.title)));
  const pages = await Promise.all(asked.map(ask));
  return pages.filter(Boolean);
}

async function ask(tab) {
  try {
    return await chrome.tabs.sendMessage(tab.id, "text", { frameId: 0 });
  } catch {
    // A page from before the switch: it begins to watch itself and can be asked the next time.
    await chrome.scripting.executeScript({ target: { tabId: tab.id }, files: SCRIPT.js }).catch(() => {});
    return null;
  }
}
