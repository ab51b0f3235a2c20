import { pair, pairing } from "./speaking.js";
import { PAGES, isOn } from "./text.js";

const [form, address, token, state, text] = ["form", "address", "token", "state", "text"].map((id) =>
  document.getElementById(id),
);

const known = await pairing();
if (known) {
  address.value = known.address;
  state.textContent = "This browser is paired. A new token replaces the old one.";
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  state.textContent = "Asking Recollect…";
  try {
    const count = await pair(address.value.trim().replace(/\/$/, ""), token.value.trim());
    token.value = "";
    state.textContent = `Paired: Recollect knows ${count} ordinary ${count === 1 ? "window" : "windows"}.`;
  } catch (error) {
    const reason = error instanceof TypeError ? "nothing answers at that address" : error.message;
    state.textContent = `Not paired: ${reason}.`;
  }
});

text.checked = await isOn();
text.addEventListener("change", async () => {
  await (text.checked ? chrome.permissions.request(PAGES) : chrome.permissions.remove(PAGES));
  text.checked = await isOn();
});
