// Tells Recollect on this computer which windows of this browser are ordinary ones: all that are
// shown, by the tab in front. Private windows are not visible to this extension at all
// ("incognito": "not_allowed" in the manifest), so what it does not name is not recorded.

import { say } from "./speaking.js";
import { listenTo, watchPages } from "./text.js";

const HEARTBEAT = "heartbeat";
const SETTLE_MS = 30; // one navigation makes several events

let timer = 0;

function soon() {
  clearTimeout(timer);
  timer = setTimeout(() => tell().catch((error) => console.warn("Recollect:", error.message)), SETTLE_MS);
}

async function tell() {
  const { text_door } = await say();
  await listenTo(text_door ?? null);
}

async function switched() {
  await watchPages();
  soon();
}

chrome.tabs.onActivated.addListener(soon);
chrome.tabs.onUpdated.addListener((_id, change) => {
  if ("title" in change || "url" in change) soon();
});
chrome.tabs.onReplaced.addListener(soon);
chrome.tabs.onRemoved.addListener(soon);
chrome.tabs.onAttached.addListener(soon);
chrome.windows.onCreated.addListener(soon);
chrome.windows.onRemoved.addListener(soon);
chrome.windows.onFocusChanged.addListener(soon);
chrome.windows.onBoundsChanged.addListener(soon);
chrome.alarms.onAlarm.addListener(soon);
chrome.runtime.onStartup.addListener(soon);
chrome.runtime.onInstalled.addListener(({ reason }) => {
  if (reason === "install") chrome.runtime.openOptionsPage();
  switched();
});
chrome.permissions.onAdded.addListener(switched);
chrome.permissions.onRemoved.addListener(switched);
chrome.action.onClicked.addListener(() => chrome.runtime.openOptionsPage());

chrome.alarms.create(HEARTBEAT, { periodInMinutes: 0.5 });
soon();
