/* What a page does beyond being read: search, keys, deep links, cards, trees, progress, theme. Everything is readable
 * without it. One plain script in <head> (no module: file://), so that the theme is set before the first paint.
 *
 * What it expects of a page (all of it optional: what is not there is not served):
 *   <html data-root="../../" data-page="home|tour|stop|source|op|trace|concepts|about" data-stop="tour#stop">
 *   <button data-do="theme|help|search|copy-link|open-all|close-all|export|import|done">   what a click does
 *   <input type="file" data-import hidden>             the file that "import" reads
 *   <a rel="prev|next|home">                           j k on a stop, g h
 *   #search  <input>, and an empty <div data-results>  filled here: listbox, live region, kinds
 *   [data-symbols] <a href="#L12"> …                   the outline of a source page, in order: j k
 *   .note[id]                                          n p
 *   [id="L12"]                                         a line; an <a href="#L12"> in it is its number
 *   [data-s="qualified name"] on an element            the target of #s=qualified%20name (first one; the rest are offered)
 *   a[data-d="KEY"]                                    an identifier; KEY names a definition in cards (below)
 *   .tree details                                      a trace
 *   [data-progress="tour#stop"] on a link, [data-progress-of="tour"][data-total="9"] on a counter
 *
 * Data come by script tags and call ptx.…: (arrays, so that shards stay small)
 *   ptx.cards({KEY: [[name, kind, href from root, signature, doc], …]})   several = ambiguous, all offered
 *   ptx.shards({prefix: file, …})           search/shards.js: which prefixes (>= 2 letters, lower case) have a shard
 *   ptx.shard(prefix, [[name, kind, href from root, where], …])           kind: symbol|op|file|note|heading
 */
(function () {
  "use strict";
  const doc = document, page = doc.documentElement;
  const root = page.dataset.root || "";
  const KINDS = [["", "all"], ["symbol", "symbols"], ["op", "operators"], ["file", "files"], ["note", "notes"], ["heading", "headings"]];
  const SHOWN = 40;

  /* --- what the browser keeps; a browser that keeps nothing (file:// may be blocked) is told of, not fought --- */

  const memory = {};
  const keep = {
    blocked: false,
    get(key) {
      try { return localStorage.getItem("ptexplore." + key); } catch { this.blocked = true; return memory[key] ?? null; }
    },
    set(key, value) {
      memory[key] = value;
      try {
        if (value === null) localStorage.removeItem("ptexplore." + key); else localStorage.setItem("ptexplore." + key, value);
      } catch { this.blocked = true; }
    },
  };

  /* --- theme: before the first paint --- */

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => page.dataset.theme || (dark.matches ? "dark" : "light");
  function paint(name) {
    if (name === "light" || name === "dark") page.dataset.theme = name; else delete page.dataset.theme;
  }
  paint(keep.get("theme"));
  function switchTheme() {
    const next = theme() === "dark" ? "light" : "dark";
    const system = dark.matches ? "dark" : "light";
    keep.set("theme", next === system ? null : next);
    paint(next === system ? "" : next);
    say(next === system ? `${next}, as the system has it` : next);
  }
  addEventListener("storage", (e) => { if (e.key === "ptexplore.theme") paint(e.newValue); });

  /* --- small things --- */

  const $ = (selector, from = doc) => from.querySelector(selector);
  const $$ = (selector, from = doc) => [...from.querySelectorAll(selector)];
  function make(tag, attributes = {}, ...inside) {
    const made = doc.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value != null) made.setAttribute(name, value);
    made.append(...inside.filter((one) => one != null));
    return made;
  }
  let teller;
  function say(text) {
    teller.textContent = "";
    setTimeout(() => { teller.textContent = text; }, 20);
    clearTimeout(say.timer);
    say.timer = setTimeout(() => { teller.textContent = ""; }, 6000);
  }
  /* Addresses come from the site's own data; one with a scheme was not written by us. */
  const address = (href) => (/^[a-z][a-z0-9+.-]*:|^\/|^\\/i.test(href) ? "#" : root + href);
  function see(element, focus) {
    for (let up = element; up; up = up.parentElement) if (up.tagName === "DETAILS" && up !== element) up.open = true;
    if (focus) {
      if (element.tabIndex < 0 && !element.hasAttribute("tabindex")) element.tabIndex = -1;
      element.focus({ preventScroll: true });
    }
    element.scrollIntoView({ block: element.offsetHeight > innerHeight / 2 ? "start" : "center" });
  }
  const loading = new Map();
  function load(file) {
    if (!loading.has(file)) {
      loading.set(file, new Promise((done, failed) => {
        const tag = make("script", { src: address(file) });
        tag.onload = () => { tag.remove(); done(); };
        tag.onerror = () => { tag.remove(); loading.delete(file); failed(new Error(file)); };
        doc.head.append(tag);
      }));
    }
    return loading.get(file);
  }

  /* --- search --- */

  const shards = new Map(), cards = new Map();
  let manifest = null;
  window.ptx = {
    shards(table) { manifest = new Map(Object.entries(table)); },
    shard(prefix, rows) { shards.set(prefix, rows.map(entry)); },
    cards(table) { for (const [key, value] of Object.entries(table)) cards.set(key, value); },
  };

  /* "at::native::addMatMul_out" is asked for by its last part; its words are add mat mul out. */
  const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
  function words(name) {
    return name.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2").replace(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, "$1 $2")
      .toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  }
  function entry(row) {
    const [name, kind, href, where] = row;
    const last = kind === "symbol" ? name.slice(Math.max(name.lastIndexOf("::") + 2, name.lastIndexOf(".") + 1, 0)) || name
      : kind === "file" ? name.slice(name.lastIndexOf("/") + 1) : name;
    return { name, kind, href, where, last, low: last.toLowerCase(), whole: name.toLowerCase(), words: null };
  }
  /* "tenit" and "ten_it" find TensorIterator: every piece begins a word, in order. */
  function humps(asked, from) {
    const fits = (at, rest) => {
      if (!rest) return true;
      for (let i = at; i < from.length; i++) {
        for (let n = Math.min(rest.length, from[i].length); n > 0; n--) {
          if (from[i].startsWith(rest.slice(0, n)) && fits(i + 1, rest.slice(n))) return true;
        }
      }
      return false;
    };
    return fits(0, asked);
  }
  function rank(one, low, bare) {
    if (one.low === low || one.whole === low) return 0;
    if (one.low.startsWith(low)) return 1;
    one.words ??= words(one.last);
    if (one.words.includes(low)) return 2;
    if (one.words.some((w) => w.startsWith(low))) return 3;
    if (bare.length > 2 && bare.length < 30 && humps(bare, one.words)) return 4;
    if (one.low.includes(low)) return 5;
    return one.whole.includes(low) ? 6 : -1;
  }
  const ORDER = { op: 0, symbol: 1, file: 2, heading: 3, note: 4 };
  function ranked(rows, asked, kind) {
    const terms = asked.toLowerCase().split(/\s+/).filter(Boolean);
    const bare = terms.map(plain);
    const found = [];
    const seen = new Set();
    for (const one of rows) {
      if (kind && one.kind !== kind) continue;
      let worst = 0;
      for (let i = 0; i < terms.length && worst >= 0; i++) {
        const at = rank(one, terms[i], bare[i]);
        worst = at < 0 ? (`${one.whole} ${(one.where || "").toLowerCase()}`.includes(terms[i]) ? Math.max(worst, 6) : -1) : Math.max(worst, at);
      }
      const key = `${one.kind} ${one.name} ${one.href}`;
      if (worst < 0 || seen.has(key)) continue;
      seen.add(key);
      found.push([worst, one]);
    }
    found.sort(([a, x], [b, y]) => a - b || ORDER[x.kind] - ORDER[y.kind] || x.last.length - y.last.length
      || (x.name < y.name ? -1 : x.name > y.name ? 1 : 0) || (x.href < y.href ? -1 : 1));
    return found.map(([, one]) => one);
  }
  /* The shard of the longest beginning that has one; of the term that tells most. */
  function shardOf(asked) {
    let best = "";
    for (const term of asked.toLowerCase().split(/\s+/)) {
      const tail = plain(term.split(/::|[./]/).filter((one) => plain(one).length > 1).pop() || term);
      for (let n = tail.length; n > best.length; n--) if (manifest.has(tail.slice(0, n))) { best = tail.slice(0, n); break; }
    }
    return best;
  }
  async function rowsFor(asked) {
    if (!manifest) await load("search/shards.js");
    const prefix = shardOf(asked);
    if (prefix && !shards.has(prefix)) await load(manifest.get(prefix));
    return shards.get(prefix) || [];
  }

  function searching() {
    const input = $("#search"), box = $("[data-results]");
    if (!input || !box) return;
    let kind = "", results = [], active = -1, turn = 0;
    const list = make("ul", { role: "listbox", id: "found", "aria-label": "Results" });
    const told = make("p", { role: "status", class: "told" });
    const choice = make("div", { class: "kinds", role: "group", "aria-label": "What to search" }, ...KINDS.map(([value, label]) =>
      make("button", { type: "button", "data-kind": value, "aria-pressed": String(value === "") }, label)));
    box.append(choice, list, told);
    box.hidden = true;
    for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-controls": "found",
      "aria-expanded": "false", autocomplete: "off", spellcheck: "false", autocapitalize: "none" })) input.setAttribute(name, value);
    const open = (yes) => {
      box.hidden = !yes;
      input.setAttribute("aria-expanded", String(yes));
      if (!yes) point(-1);
    };
    function point(to) {
      const items = list.children;
      if (items[active]) items[active].setAttribute("aria-selected", "false");
      active = to;
      if (items[to]) {
        items[to].setAttribute("aria-selected", "true");
        items[to].scrollIntoView({ block: "nearest" });
        input.setAttribute("aria-activedescendant", items[to].id);
      } else input.removeAttribute("aria-activedescendant");
    }
    async function look() {
      const asked = input.value.trim(), mine = ++turn;
      if (plain(asked).length < 2) { open(false); list.replaceChildren(); results = []; return; }
      let rows;
      try {
        rows = await rowsFor(asked);
      } catch {
        if (mine === turn) { list.replaceChildren(); results = []; told.textContent = "the search's data cannot be loaded"; open(true); }
        return;
      }
      if (mine !== turn) return;
      const all = ranked(rows, asked, kind);
      results = all.slice(0, SHOWN);
      list.replaceChildren(...results.map((one, i) => make("li", { role: "option", id: `found-${i}`, "aria-selected": "false" },
        make("span", { class: `kind ${one.kind}` }, one.kind), " ", make("b", {}, one.name), " ", make("small", {}, one.where || ""))));
      told.textContent = !all.length ? "nothing found" : all.length > SHOWN ? `${all.length} found, the first ${SHOWN} shown`
        : `${all.length} found`;
      open(true);
      point(-1);
    }
    function go(one, event) {
      if (!one) return;
      if (event && (event.ctrlKey || event.metaKey || event.button === 1)) { window.open(address(one.href), "_blank", "noopener"); return; }
      open(false);
      input.blur();
      location.href = address(one.href);
    }
    input.addEventListener("input", look);
    input.addEventListener("focus", () => { if (results.length) open(true); });
    input.addEventListener("keydown", (e) => {
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[e.key];
      if (step && results.length) {
        if (box.hidden) open(true);
        const to = active + step;
        point(Math.abs(step) === 1 ? (to < -1 ? results.length - 1 : to >= results.length ? -1 : to)
          : Math.max(0, Math.min(results.length - 1, to)));
      } else if (e.key === "Enter") go(results[Math.max(active, 0)], e);
      else if (e.key === "Escape") { if (box.hidden) input.blur(); else open(false); }
      else return;
      e.preventDefault();
    });
    list.addEventListener("pointerdown", (e) => e.preventDefault());
    const clicked = (e) => { const li = e.target.closest("[role=option]"); if (li) go(results[[...list.children].indexOf(li)], e); };
    list.addEventListener("click", clicked);
    list.addEventListener("auxclick", clicked);
    choice.addEventListener("click", (e) => {
      const button = e.target.closest("button");
      if (!button) return;
      kind = button.dataset.kind;
      for (const one of choice.children) one.setAttribute("aria-pressed", String(one === button));
      look();
      input.focus();
    });
    const whole = input.closest("form, search, [role=search]") || box.parentElement;
    whole.addEventListener("focusout", (e) => { if (e.relatedTarget ? !whole.contains(e.relatedTarget) : !doc.hasFocus() || false) open(false); });
    doc.addEventListener("pointerdown", (e) => { if (!whole.contains(e.target)) open(false); });
    whole.addEventListener("submit", (e) => e.preventDefault());
    if (input.value) look();
    searching.ask = (text) => { input.value = text; input.focus(); look(); };
  }

  /* --- deep links: #L12, #L12-L20, #s=qualified name, #id --- */

  const number = (id) => (/^L(\d+)$/.exec(id) || [])[1] | 0;
  let from = 0;
  function mark() {
    for (const line of $$(".on")) line.classList.remove("on");
    let hash;
    try { hash = decodeURIComponent(location.hash.slice(1)); } catch { hash = location.hash.slice(1); }
    if (!hash) return;
    if (hash.startsWith("s=")) { symbol(hash.slice(2)); return; }
    const range = /^L(\d+)(?:-L?(\d+))?$/.exec(hash);
    if (!range) { const there = doc.getElementById(hash); if (there) see(there); return; }
    let [first, last] = [+range[1], +(range[2] || range[1])].sort((a, b) => a - b);
    from = +range[1];
    const top = doc.getElementById(`L${first}`);
    if (!top) { say(`there is no line ${first} here`); return; }
    last = Math.min(last, first + 20000);
    for (let i = first; i <= last; i++) doc.getElementById(`L${i}`)?.classList.add("on");
    see(top);
  }
  async function symbol(name) {
    const here = $$("[data-s]").filter((one) => one.dataset.s === name);
    if (here.length) {
      here[0].classList.add("on");
      see(here[0]);
      if (here.length > 1) say(`${here.length} of that name here; j goes to the next`);
      return;
    }
    /* It moved to another file in this version: the search knows where. */
    let found = [];
    try { found = (await rowsFor(name)).filter((one) => one.kind === "symbol" && one.name === name); } catch { /* told below */ }
    const places = [...new Set(found.map((one) => one.href))];
    if (places.length === 1 && !sameAddress(places[0])) location.replace(address(places[0]));
    else if (places.length > 1 && searching.ask) searching.ask(name);
    else say(`${name} is not in this site`);
  }
  const sameAddress = (href) => new URL(address(href), location.href).href === location.href;

  function lineClicked(e) {
    const link = e.target.closest('a[href^="#L"]');
    if (!link || e.ctrlKey || e.metaKey || e.altKey) return;
    const line = number(link.getAttribute("href").slice(1));
    if (!line) return;
    e.preventDefault();
    getSelection().removeAllRanges();
    location.replace(e.shiftKey && from && from !== line ? `#L${Math.min(from, line)}-L${Math.max(from, line)}` : `#L${line}`);
  }
  async function copyLink() {
    const here = location.href;
    try { await navigator.clipboard.writeText(here); say("link copied"); } catch {
      const field = make("textarea", { class: "aside", readonly: "" });
      field.value = here;
      doc.body.append(field);
      field.select();
      const done = doc.execCommand("copy");
      field.remove();
      say(done ? "link copied" : `cannot copy; the link is ${here}`);
    }
  }

  /* --- what an identifier is: a card on hover and focus, a choice where it is open --- */

  let card, cardOf = null, cardTimer;
  function showCard(link) {
    const known = cards.get(link.dataset.d);
    if (!known || !known.length || cardOf === link) return;
    hideCard();
    cardOf = link;
    card.replaceChildren(...(known.length > 1 ? [make("p", { class: "many" }, `${known.length} definitions bear this name; which one is meant here is open`)] : []),
      ...known.slice(0, 12).map(([name, kind, href, signature, text]) => make("div", { class: "one" },
        make("p", {}, make("a", { href: address(href) }, name), " ", make("small", {}, kind)),
        signature ? make("code", {}, signature) : null, text ? make("p", { class: "doc" }, text) : null)),
      ...(known.length > 12 ? [make("p", { class: "many" }, `and ${known.length - 12} more: search for it`)] : []));
    card.hidden = false;
    const at = link.getClientRects()[0] || link.getBoundingClientRect();
    const wide = page.clientWidth, high = card.offsetHeight;
    card.style.left = `${Math.max(8, Math.min(at.left, wide - card.offsetWidth - 8)) + scrollX}px`;
    card.style.top = `${(at.bottom + high + 8 > innerHeight && at.top > high + 8 ? at.top - high - 4 : at.bottom + 4) + scrollY}px`;
    link.setAttribute("aria-describedby", "card");
  }
  function hideCard() {
    clearTimeout(cardTimer);
    if (cardOf) cardOf.removeAttribute("aria-describedby");
    cardOf = null;
    card.hidden = true;
  }
  function watchCards() {
    card = make("div", { id: "card", role: "tooltip", hidden: "" });
    doc.body.append(card);
    const later = (what, ms) => { clearTimeout(cardTimer); cardTimer = setTimeout(what, ms); };
    doc.addEventListener("pointerover", (e) => {
      if (e.pointerType === "touch") return;
      const link = e.target.closest("a[data-d]");
      if (link) later(() => showCard(link), 180);
      else if (e.target.closest("#card")) clearTimeout(cardTimer);
      else if (!card.hidden) later(hideCard, 300);
      else clearTimeout(cardTimer);
    });
    doc.addEventListener("focusin", (e) => {
      const link = e.target.closest("a[data-d]");
      if (link && link.matches(":focus-visible")) showCard(link);
      else if (!e.target.closest("#card")) hideCard();
    });
    /* Several definitions: a click asks which, and never chooses. */
    doc.addEventListener("click", (e) => {
      const link = e.target.closest("a[data-d]");
      if (!link) { if (!e.target.closest("#card")) hideCard(); return; }
      if ((cards.get(link.dataset.d) || []).length < 2) return;
      e.preventDefault();
      cardOf = null;
      showCard(link);
      $("a", card)?.focus();
    });
  }

  /* --- progress: the same format as the terminal's progress.json --- */

  const STOP = /^[\w.-]{1,100}#[\w.-]{1,100}$/;
  function progress(text = keep.get("progress")) {
    let data = null;
    try { data = JSON.parse(text || "{}"); } catch { /* damaged: begun anew */ }
    const texts = (list) => (Array.isArray(list) ? list.filter((one) => typeof one === "string") : []);
    const last = data && typeof data.last === "object" && data.last && !Array.isArray(data.last) ? data.last : {};
    return { done: new Set(texts(data?.done).filter((one) => STOP.test(one))), labs: new Set(texts(data?.labs)),
      last: Object.fromEntries(Object.entries(last).filter(([k, v]) => typeof v === "string" && STOP.test(`${k}#${v}`))) };
  }
  const asText = (known) => JSON.stringify({ format: 1, done: [...known.done].sort(), labs: [...known.labs].sort(), last: known.last }, null, 1);
  function change(how) {
    const known = progress();
    how(known);
    keep.set("progress", asText(known));
    showProgress();
  }
  function showProgress() {
    const known = progress();
    for (const link of $$("[data-progress]")) link.classList.toggle("done", known.done.has(link.dataset.progress));
    for (const one of $$("[data-progress-of]")) {
      const tour = one.dataset.progressOf, count = [...known.done].filter((stop) => stop.startsWith(`${tour}#`)).length;
      one.textContent = count ? `${Math.min(count, +one.dataset.total)} of ${one.dataset.total} read` : "";
    }
    for (const one of $$("a[data-continue]")) {
      const stop = known.last[one.dataset.continue];
      one.hidden = !stop;
      if (stop) one.href = one.dataset.base.replace("{stop}", encodeURIComponent(stop));
    }
    const button = $("[data-do=done]");
    if (button) button.setAttribute("aria-pressed", String(known.done.has(page.dataset.stop)));
  }
  function exportProgress() {
    const link = make("a", { href: `data:application/json,${encodeURIComponent(asText(progress()))}`, download: "progress.json" });
    doc.body.append(link);
    link.click();
    link.remove();
  }
  async function importProgress(file) {
    if (!file) return;
    const text = file.size < 4e6 ? await file.text() : "";
    let fine = false;
    try { fine = JSON.parse(text).format === 1; } catch { /* told below */ }
    if (!fine) { say(`${file.name} is no progress of format 1`); return; }
    const other = progress(text);
    change((known) => {
      for (const one of other.done) known.done.add(one);
      for (const one of other.labs) known.labs.add(one);
      Object.assign(known.last, other.last);
    });
    say(`${other.done.size} stops read, from ${file.name}${keep.blocked ? "; this browser forgets it with this page" : ""}`);
  }

  /* --- keys --- */

  const KEYS = [["/", "search"], ["j k", "next and previous symbol, stop or hop"], ["n p", "next and previous note"], ["t", "light or dark"],
    ["g h", "home"], ["c", "copy a link to this place"], ["o", "open or close the whole trace"], ["d", "mark this stop as read, or not"],
    ["Enter", "follow"], ["Esc", "close"], ["?", "this help"]];
  function help() {
    let dialog = $("#help");
    if (!dialog) {
      dialog = make("dialog", { id: "help", "aria-labelledby": "help-title" }, make("h2", { id: "help-title" }, "Keys"),
        make("dl", {}, ...KEYS.flatMap(([key, what]) => [
          make("dt", {}, ...key.split(" ").flatMap((one) => [make("kbd", {}, one), " "])), make("dd", {}, what)])),
        make("p", {}, "A click on a line number links to it, a second one with Shift to all between."),
        make("form", { method: "dialog" }, make("button", {}, "Close")));
      doc.body.append(dialog);
    }
    if (dialog.open) dialog.close(); else dialog.showModal();
  }
  /* The next of these below where the reader is: what has the focus or was gone to, else what stands at the top. */
  let at = null;
  function step(list, by) {
    const shown = list.filter((one) => one.getClientRects().length);
    if (!shown.length) return;
    let i = shown.indexOf(shown.includes(doc.activeElement) ? doc.activeElement : at);
    const box = i >= 0 && shown[i].getBoundingClientRect();
    if (i >= 0 && box.bottom > 0 && box.top < innerHeight) i += by;
    else {
      const below = shown.findIndex((one) => one.getBoundingClientRect().top > 60);
      i = by > 0 ? (below < 0 ? shown.length : below) : (below < 0 ? shown.length : below) - 1;
    }
    if (i < 0 || i >= shown.length) { say(by > 0 ? "that was the last" : "that was the first"); return; }
    at = shown[i];
    see(at, true);
    return at;
  }
  function walk(by) {
    const link = $(`a[rel~=${by > 0 ? "next" : "prev"}]`);
    if (page.dataset.stop) {
      if (!link) { say(by > 0 ? "that was the last stop" : "that was the first stop"); return; }
      link.click();
      return;
    }
    if (page.dataset.page === "trace") { step($$(".tree summary, .tree .leaf"), by); return; }
    const symbols = $$("[data-s]");
    if (symbols.length) {
      for (const one of $$(".on")) one.classList.remove("on");
      step(symbols, by)?.classList.add("on");
    } else step($$("main a[data-progress], main [data-step]"), by);
  }
  function openAll(yes) { for (const one of $$(".tree details")) one.open = yes; }
  const DO = {
    theme: switchTheme, help, search: () => $("#search")?.focus(), "copy-link": copyLink,
    "open-all": () => openAll(true), "close-all": () => openAll(false), export: exportProgress,
    import: () => $("[data-import]")?.click(),
    done: () => change((known) => { const s = page.dataset.stop; if (s && !known.done.delete(s)) known.done.add(s); }),
  };
  let before = "";
  function key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || e.isComposing) return;
    if (e.key === "Escape") { hideCard(); return; }
    if (e.target.closest?.("input, textarea, select, [contenteditable], dialog") && e.key !== "?") return;
    if (e.target.closest?.("input, textarea, select, [contenteditable]")) return;
    const pressed = before === "g" ? `g ${e.key}` : e.key;
    before = e.key === "g" ? "g" : "";
    setTimeout(() => { before = ""; }, 1000);
    const act = {
      "/": () => { const field = $("#search"); field?.focus(); field?.select(); },
      "?": help, t: switchTheme, c: copyLink, d: () => DO.done(),
      j: () => walk(1), k: () => walk(-1), n: () => step($$(".note"), 1), p: () => step($$(".note"), -1),
      o: () => openAll(!$(".tree details[open]")), "g h": () => { location.href = $("a[rel~=home]")?.href || address("index.html"); },
    }[pressed];
    if (!act) return;
    e.preventDefault();
    act();
  }

  /* --- when the page is there --- */

  doc.addEventListener("DOMContentLoaded", () => {
    page.classList.add("js");
    teller = make("p", { class: "teller", role: "status" });
    doc.body.append(teller);
    searching();
    watchCards();
    if (page.dataset.stop) {
      const [tour, stop] = page.dataset.stop.split("#");
      change((known) => { known.last[tour] = stop; });
      doc.addEventListener("click", (e) => {
        if (e.target.closest("a[rel~=next]")) change((known) => known.done.add(page.dataset.stop));
      });
    } else showProgress();
    if (keep.blocked) for (const one of $$("[data-blocked]")) one.hidden = false;
    doc.addEventListener("keydown", key);
    doc.addEventListener("click", (e) => {
      lineClicked(e);
      const button = e.target.closest("[data-do]");
      if (button) DO[button.dataset.do]?.();
    });
    $("[data-import]")?.addEventListener("change", (e) => { importProgress(e.target.files[0]); e.target.value = ""; });
    addEventListener("hashchange", mark);
    mark();
  });
  addEventListener("pageshow", (e) => { if (e.persisted) { paint(keep.get("theme")); showProgress(); } });
})();
