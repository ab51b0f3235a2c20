// Tells, when it is asked and only then, the words of this page that are in view, with their places.
//
// Nothing that was typed into a field is told, and nothing that cannot be seen. What is left out
// (pictures, fields, frames of other pages, what style sheets add) is read from the picture. So that
// the words and a picture can be of one instant, it notes when the page last changed on the screen.

if (!globalThis.recollectPage) {
  globalThis.recollectPage = true;

  const QUIET_FRAMES = 2; // a change is painted by the second frame after it
  const MAX_MS = 80;
  const NO_TEXT = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "INPUT", "TEXTAREA", "SELECT", "OPTION"]);
  const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
  const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

  let quiet = 0;
  let settled = 0;

  const touched = () => {
    if (quiet >= QUIET_FRAMES) requestAnimationFrame(frame);
    quiet = 0;
  };
  const frame = () => {
    quiet += 1;
    if (quiet < QUIET_FRAMES) requestAnimationFrame(frame);
    else settled = Date.now();
  };
  requestAnimationFrame(frame);
  const everything = { subtree: true, childList: true, characterData: true, attributes: true };
  new MutationObserver(touched).observe(document, everything);
  for (const name of ["scroll", "load", "input", "toggle", "transitionrun", "transitionend", "animationstart", "animationend"])
    document.addEventListener(name, touched, { capture: true, passive: true });
  for (const name of ["resize", "load", "pageshow"]) addEventListener(name, touched);
  document.fonts.addEventListener("loadingdone", touched);

  chrome.runtime.onMessage.addListener((_message, _sender, answer) => {
    // Scrolling is told to a page only with its next frame.
    requestAnimationFrame(() => answer(snapshot()));
    return true;
  });

  /** Words in view as [text, x, y, w, h], in pixels of the screen; null where they would be in doubt. */
  function snapshot() {
    const isPlain = document.visibilityState === "visible" && (visualViewport?.scale ?? 1) === 1;
    if (!isPlain || !document.body || quiet < QUIET_FRAMES) return null;
    const words = wordsInView(performance.now() + MAX_MS);
    return words && {
      title: document.title, url: location.href, settled, at: Date.now(),
      width: Math.round(innerWidth * devicePixelRatio), height: Math.round(innerHeight * devicePixelRatio), words,
    };
  }

  function wordsInView(deadline) {
    const found = [];
    const range = document.createRange();
    const shown = new Map(); // by element
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, nearView);
    while (texts.nextNode()) {
      if (performance.now() > deadline) return null;
      const node = texts.currentNode;
      range.selectNodeContents(node);
      const places = range.getClientRects();
      if (!Array.prototype.some.call(places, isInView)) continue;
      const parent = node.parentElement;
      if (!shown.has(parent)) shown.set(parent, styleOf(parent));
      const style = shown.get(parent);
      if (!style) continue;
      const spans = [...tokens(node.data)];
      const isWhole = places.length === 1 && spans[0][1] - spans[0][0] === node.data.length; // most cells of a table
      for (const [start, end] of spans) {
        for (const [from, to, rect] of isWhole ? [[start, end, places[0]]] : pieces(range, node, start, end))
          if (isInView(rect) && isOnTop(parent, rect, style, found.at(-1))) add(found, asShown(node.data.slice(from, to), style), rect);
      }
    }
    return found.map(({ text, left, top, right, bottom }) => {
      const [x, y, r, b] = [left, top, right, bottom].map((side) => Math.round(side * devicePixelRatio));
      return [text, x, y, r - x, b - y];
    });
  }

  /** Texts, without what is far away; what sticks out of its element there is read from the picture. */
  function nearView(node) {
    if (node.nodeType === Node.TEXT_NODE) return node.data.trim() ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT;
    if (NO_TEXT.has(node.tagName)) return NodeFilter.FILTER_REJECT;
    const { height, top, bottom } = node.getBoundingClientRect();
    return height && (bottom < 0 || top > innerHeight) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
  }

  const isInView = (rect) =>
    rect.width > 0 && rect.height > 0 && rect.right > 0 && rect.bottom > 0 && rect.left < innerWidth && rect.top < innerHeight;

  /** What of an element's style changes its words, or null where its text is not to be told. */
  function styleOf(element) {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) return null;
    const style = getComputedStyle(element);
    if ((style.webkitTextSecurity || "none") !== "none" || style.writingMode !== "horizontal-tb") return null;
    // An ellipsis hides words whose places seem to be in view.
    for (let box = element, own = style; box; box = box.parentElement, own = box && getComputedStyle(box)) {
      if (own.textOverflow !== "clip" && box.scrollWidth > box.clientWidth && own.display !== "inline") return null;
      if (own.webkitLineClamp !== "none" && box.scrollHeight > box.clientHeight) return null;
      if (!["inline", "contents"].includes(own.display)) break;
    }
    return { transform: style.textTransform, isHit: style.pointerEvents !== "none" && style.display !== "contents" };
  }

  /**
   * Whether both ends of a word belong to its element for a pointer: nothing lies over it or cuts it off.
   * Such questions are what costs most: the end of the word before stands for the beginning of this one.
   */
  function isOnTop(element, { left, right, top, bottom }, { isHit }, before) {
    const height = bottom - top;
    const inside = Math.min(2, (right - left) / 3); // a pointer has whole pixels
    const follows = before && Math.abs(before.top - top) < height / 2 && Math.abs(left - before.right) < height;
    return (follows ? [right - inside] : [left + inside, right - inside]).every((x) => {
      const hit = document.elementFromPoint(x, top + height / 2);
      return hit && (element.contains(hit) || (!isHit && hit.contains(element)));
    });
  }

  /** Where words begin and end: at spaces, or by dictionary where a script has none. */
  function* tokens(text) {
    for (const { 0: word, index } of text.matchAll(/[^\s\u200b]+/gu)) {
      if (!UNSPACED.test(word)) yield [index, index + word.length];
      else for (const { segment, index: at } of segmenter.segment(word)) yield [index + at, index + at + segment.length];
    }
  }

  /** A word where it stands; one that is broken over lines in its parts. */
  function* pieces(range, node, start, end) {
    const place = (from, to) => (range.setStart(node, from), range.setEnd(node, to), range.getClientRects());
    const rects = place(start, end);
    if (rects.length < 2) {
      if (rects.length) yield [start, end, rects[0]];
      return;
    }
    let from = start, all = null;
    for (let at = start; at < end; at += node.data.codePointAt(at) > 0xffff ? 2 : 1) {
      const [rect] = place(at, Math.min(end, at + (node.data.codePointAt(at) > 0xffff ? 2 : 1)));
      if (!rect) continue;
      if (all && rect.top >= all.bottom - 1) {
        yield [from, at, all];
        [from, all] = [at, null];
      }
      all = all ? around(all, rect) : rect;
    }
    if (all) yield [from, end, all];
  }

  function around(a, b) {
    const [left, top] = [Math.min(a.left, b.left), Math.min(a.top, b.top)];
    const [right, bottom] = [Math.max(a.right, b.right), Math.max(a.bottom, b.bottom)];
    return { left, top, right, bottom, width: right - left, height: bottom - top };
  }

  /** Markup may divide a word: what follows another without any space between belongs to it. */
  function add(found, text, rect) {
    const last = found.at(-1);
    const joins = last && !UNSPACED.test(text) && !UNSPACED.test(last.text)
      && Math.abs(rect.left - last.right) < 0.5 && rect.top < last.bottom && last.top < rect.bottom;
    if (joins) Object.assign(last, { text: last.text + text }, around(last, rect));
    else found.push({ text, ...around(rect, rect) });
  }

  function asShown(text, { transform }) {
    const language = document.documentElement.lang || undefined;
    try {
      if (transform === "uppercase") return text.toLocaleUpperCase(language);
      if (transform === "lowercase") return text.toLocaleLowerCase(language);
      if (transform === "capitalize") return text.replace(/\p{L}/u, (letter) => letter.toLocaleUpperCase(language));
    } catch {
      return text.toUpperCase(); // the page names a language that does not exist
    }
    return text;
  }
}
