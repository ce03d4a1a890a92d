/* Makes pages interactive: theme, keys, deep links, cards of definitions, traces, progress.
 *
 * Everything but the packed parts is readable without this script. It is a plain script in <head>, because modules do not load from file://.
 * So it sets the theme before the first paint; the rest waits for the page. templates/ and source_pages.py describe the parts of a page.
 */
(function () {
  "use strict";
  const doc = document, page = doc.documentElement;
  const root = page.dataset.root || "";
  const $ = (selector, from = doc) => from.querySelector(selector);
  const $$ = (selector, from = doc) => [...from.querySelectorAll(selector)];

  /* --- the browser's storage; if there is none (it may be off for file://), the page says so and goes on --- */

  const memory = {};
  const keep = {
    blocked: false,
    get(key) {
      try { return localStorage.getItem(`ptexplore.${key}`); } catch { this.blocked = true; return memory[key] ?? null; }
    },
    set(key, value) {
      memory[key] = value;
      try {
        if (value === null) localStorage.removeItem(`ptexplore.${key}`); else localStorage.setItem(`ptexplore.${key}`, value);
      } catch { this.blocked = true; }
    },
  };

  /* --- theme --- */

  const dark = matchMedia("(prefers-color-scheme: dark)");
  function paint(name) {
    if (name === "light" || name === "dark") page.dataset.theme = name; else delete page.dataset.theme;
  }
  page.classList.add("js");
  paint(keep.get("theme"));
  function switchTheme() {
    const system = dark.matches ? "dark" : "light";
    const next = (page.dataset.theme || system) === "dark" ? "light" : "dark";
    keep.set("theme", next === system ? null : next);
    paint(next === system ? "" : next);
    say(next === system ? `${next}, as the system setting` : next);
  }
  addEventListener("storage", (e) => { if (e.key === "ptexplore.theme") paint(e.newValue); });

  /* --- small helpers, some also for search.js --- */

  function make(tag, attributes = {}, ...inside) {
    const made = doc.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value != null) made.setAttribute(name, value);
    made.append(...inside.filter((one) => one != null));
    return made;
  }
  let teller;
  function say(text) {
    teller.textContent = "";
    clearTimeout(say.timer);
    say.timer = setTimeout(() => {
      teller.textContent = text;
      say.timer = setTimeout(() => { teller.textContent = ""; }, 6000);
    }, 20);
  }
  /* Addresses come from the site's own data. We never wrote an address that leads out of the site. */
  const address = (href) => (/^[a-z][a-z0-9+.-]*:|^[/\\]/i.test(href) ? "#" : root + href);
  function see(element, focus) {
    const own = element.tagName === "SUMMARY" ? element.parentElement : element; // only the reader opens the details below it
    for (let up = own.parentElement; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    if (focus) {
      if (element.tabIndex < 0 && !element.hasAttribute("tabindex")) element.tabIndex = -1;
      element.focus({ preventScroll: true });
    }
    element.scrollIntoView({ block: element.offsetHeight > innerHeight / 2 ? "start" : "center" });
  }
  const loading = new Map();
  function load(url) {
    if (!loading.has(url)) {
      loading.set(url, new Promise((done, failed) => {
        const tag = make("script", { src: url });
        tag.onload = () => { tag.remove(); done(); };
        tag.onerror = () => { tag.remove(); loading.delete(url); failed(new Error(url)); };
        doc.head.append(tag);
      }));
    }
    return loading.get(url);
  }

  /* --- definitions of a file: rows [line, qualified name, kind, signature, doc] --- */

  /* Long generated text is packed (raw deflate, base64). It is unpacked here, without any request. */
  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
  }
  const CANNOT = "This browser cannot unpack this file. Chromium 103, Firefox 113, Safari 16.4 and later versions can.";

  const files = new Map();
  const plainUrl = (href) => { const url = new URL(href, doc.baseURI); url.hash = url.search = ""; return url.href; };
  const here = plainUrl(location.href);
  const site = new URL(root || "./", location.href).href;
  const dataOf = (url) => (url.startsWith(site) && url.endsWith(".html") ? url.replace(/html$/, "js") : null);
  const KINDS = { f: "function", c: "class", m: "macro", t: "type", v: "variable", e: "enum" };
  function file(path, rows) { files.set(doc.currentScript.src, rows); }
  async function rowsOf(url) {
    const data = dataOf(url);
    if (!data) return [];
    if (!files.has(data)) try { await load(data); } catch { files.set(data, []); }
    const rows = files.get(data) || [];
    if (typeof rows === "string") files.set(data, unpack(rows).then(JSON.parse).catch(() => { say(CANNOT); return []; }));
    return files.get(data) || [];
  }

  /* --- lines and deep links: #L12, #L12-L20, #s=qualified name, #id --- */

  let lists = null, from = 0;
  const PER_LIST = 100;
  function lineAt(n) {
    lists ??= $$("#code ol.c");
    return lists[Math.floor((n - 1) / PER_LIST)]?.children[(n - 1) % PER_LIST];
  }
  function numberOf(li) {
    const list = li.parentElement;
    return list.start + [...list.children].indexOf(li);
  }
  const range = (hash) => { const m = /^L(\d+)(?:-L?(\d+))?$/.exec(hash); return m && [+m[1], +(m[2] || m[1])].sort((a, b) => a - b); };
  function fragment() {
    const hash = location.hash.slice(1);
    try { return decodeURIComponent(hash); } catch { return hash; }
  }
  function show(first, last) {
    const top = lineAt(first);
    if (!top) { say(`this file has no line ${first}`); return; }
    for (let i = first; i <= last; i++) lineAt(i)?.classList.add("on");
    see(top);
  }
  /* Puts the lines of a packed page, and its list, in place. Links to them work only after that. */
  let opening = false;
  async function openPage() {
    const code = $("#code"), packed = $("#packed");
    if (!packed) return;
    opening = true;
    code.style.minHeight = `${code.dataset.lines}lh`; // so that the content below does not move
    code.setAttribute("aria-busy", "true");
    try {
      const [text, list] = (await unpack(packed.content.textContent)).split("\f");
      code.innerHTML = text;
      if (list) $("ol.d").innerHTML = list;
    } catch { code.replaceChildren(make("p", { class: "warning" }, CANNOT)); }
    code.style.minHeight = "";
    code.removeAttribute("data-packed");
    code.removeAttribute("aria-busy");
    lists = null;
    opening = false;
    placeNotes();
    arrive();
    comeBack();
    whereAmI();
  }
  function arrive() {
    if (opening) return;
    for (const line of $$(".on")) line.classList.remove("on");
    const hash = fragment();
    if (!hash) return;
    if (hash.startsWith("s=")) { symbol(hash.slice(2)); return; }
    const uses = $("#code") && /^u(\d+)$/.exec(hash);
    if (uses) { from = +uses[1]; show(from, from); openUses(from); return; }
    const lines = $("#code") && range(hash);
    if (lines) { from = lines[0]; show(...lines); return; }
    const there = doc.getElementById(hash) || (/^h\d+$/.test(hash) && $(`.trace [data-hop="${hash.slice(1)}"]`));
    if (there) { there.classList.add("on"); see(there); }
  }
  async function symbol(name) {
    const known = $("#code") ? await rowsOf(here) : [], exact = known.filter((row) => row[1] === name);
    /* "native::use" means at::native::use if no symbol has exactly that name */
    const rows = exact.length ? exact : known.filter((row) => row[1].endsWith(`::${name}`) || row[1].endsWith(`.${name}`));
    if (rows.length) {
      from = rows[0][0];
      show(from, from);
      for (const row of rows.slice(1)) lineAt(row[0])?.classList.add("on");
      if (rows.length > 1) say(`${rows.length} symbols here have this name, all marked`);
      return;
    }
    /* In this version the symbol is in another file: the search knows it. */
    const places = ptx.named ? await ptx.named(name) : [];
    if (places.length === 1) location.replace(address(places[0]));
    else if (places.length) { say(`${places.length} places have ${name}`); ptx.ask(name); }
    else { say(`this site does not have ${name}`); ptx.ask?.(name.split(/::|\./).pop()); }
  }
  /* Shows the uses of the definition on this line. uses.js does this; it is loaded with the first question. */
  async function openUses(line) {
    const rows = (await rowsOf(here)).filter((row) => row[0] === line);
    if (!rows.length) { say("no definition is known on this line"); return; }
    try { await load(address("assets/uses.js")); } catch { say("the uses could not be loaded"); return; }
    const [, qualified, kind] = rows.find((row) => "fcmte".includes(row[2])) || rows[0];
    ptx.showUses(qualified, kind, doc.body.dataset.id, line);
    lineAt(line)?.scrollIntoView({ block: "center" }); // above the pane
  }
  /* The number of a line is the marker of its list item, left of the text. It is no element, so that pages stay small. */
  function lineClicked(e) {
    const li = e.target.closest("#code ol.c > li");
    if (!li || e.target.closest("a") || e.button || e.ctrlKey || e.metaKey || e.altKey) return;
    const style = getComputedStyle(li);
    if (e.clientX > li.getBoundingClientRect().left + parseFloat(style.borderLeftWidth) + parseFloat(style.paddingLeft)) return;
    e.preventDefault();
    getSelection().removeAllRanges();
    const line = numberOf(li);
    const other = e.shiftKey && from && from !== line ? from : 0;
    const x = scrollX, y = scrollY;
    location.replace(other ? `#L${Math.min(other, line)}-L${Math.max(other, line)}` : `#L${line}`);
    still = () => { scrollTo(x, y); from = other || line; };
    setTimeout(() => { still = null; }, 500); // the hash was the same before
  }
  let still = null;
  /* Going back leads to the reader's last position: the line at the top, and its offset, are kept with the address. */
  function keepPlace() {
    if (!$("#code") || opening) return;
    const line = topLine(), li = line && lineAt(line);
    history.replaceState({ ...history.state, at: li ? [line, li.getBoundingClientRect().top] : null }, "");
  }
  function comeBack() {
    const at = history.state?.at;
    if (!at || !$("#code") || opening || fragment().startsWith("u")) return;
    const place = () => { const li = lineAt(at[0]); if (li) scrollBy(0, li.getBoundingClientRect().top - at[1]); };
    place();
    requestAnimationFrame(() => { place(); setTimeout(place, 60); }); // lines that get their layout now may move it
  }
  /* The list of uses belongs to the place where the reader asked for it. It stays open while the reader follows links, and
     closes when the reader goes back to an earlier place. A place that is reached for the first time has no record yet. */
  function keepUses() {
    if (!$("#code") || fragment().startsWith("u")) return;
    if (!history.state) { if (page.classList.contains("with-uses")) history.replaceState({ uses: true }, ""); }
    else if (!history.state.uses) ptx.closeUses?.();
  }
  async function copyLink() {
    let link = location.href;
    const lines = range(fragment()), hop = doc.activeElement.closest(".trace [data-hop]");
    if (hop) link = `${here}#h${hop.dataset.hop}`;
    if ($("#code") && lines && lines[0] === lines[1]) {
      /* A link to a definition uses its name, so that it holds after lines have moved. */
      const rows = await rowsOf(here), row = rows.find((one) => one[0] === lines[0]);
      if (row && rows.filter((one) => one[1] === row[1]).length === 1) link = `${here}#s=${encodeURIComponent(row[1])}`;
    }
    try { await navigator.clipboard.writeText(link); say("link copied"); } catch {
      const field = make("textarea", { class: "copied", readonly: "", "aria-label": "link" });
      field.value = link;
      doc.body.append(field);
      field.select();
      const done = doc.execCommand("copy");
      field.remove();
      say(done ? "link copied" : `cannot copy; the link is ${link}`);
    }
  }

  /* --- the reader's position: the current function, and the outline beside the source --- */

  let outlined = [], current = null;
  const SHOWN_KINDS = "fcmte";
  async function readOutline() {
    const outline = $(".outline ol");
    if (!outline || !$("#code")) return;
    const rows = (await rowsOf(here)).filter((row) => row[1]);
    outlined = rows.filter((row) => SHOWN_KINDS.includes(row[2])).sort((a, b) => a[0] - b[0]);
    const shown = outlined.length > OUTLINED ? outlined.filter((row) => row[5]) : outlined; // if there are many, only those with a body
    const parents = [];
    const entries = shown.slice(0, OUTLINED).map((row) => {
      const [line, name, kind, , , end] = row;
      while (parents.length && parents.at(-1)[5] < line) parents.pop();
      const parent = parents.at(-1)?.[0] ?? 0, depth = Math.min(parents.length, 3);
      if (kind === "c" && end) parents.push(row);
      return { row, parent, depth, short: /(?:^|::)(operator\b.*)$/.exec(name)?.[1] ?? name.split(/::|\./).pop() };
    });
    const count = (key) => entries.reduce((counts, entry) => counts.set(key(entry), (counts.get(key(entry)) || 0) + 1), new Map());
    const shortOf = (entry) => entry.short, nameOf = ({ row, parent }) => `${parent} ${row[1]}`;
    const shorts = count(shortOf), names = count(nameOf);
    /* Entries with the same name in different scopes get their scope. Overloads differ only in the title. */
    for (const entry of entries) {
      const [, name, kind] = entry.row;
      const before = name.slice(0, name.length - entry.short.length), scope = /[^:.]+(?:::|\.)$/.exec(before)?.[0] ?? "";
      entry.label = (!entry.depth && kind !== "c" && shorts.get(entry.short) > names.get(nameOf(entry)) ? scope : "") + entry.short;
    }
    const headOf = ({ label }) => label.slice(0, ROOM), heads = count(headOf); // cut to this length, they would look alike
    outline.replaceChildren(...entries.map((entry) => {
      const [line, name, kind, signature] = entry.row;
      const whole = entry.label.length > ROOM && heads.get(headOf(entry)) > 1;
      const parts = entry.label.split(/(?<=::|_)(?!_)/).flatMap((part) => [part, make("wbr")]); // a long name breaks between its words
      const link = make("a", { href: `#L${line}`, title: `${KINDS[kind]} ${name}${signature}`, class: kind }, ...parts);
      return make("li", { "data-depth": entry.depth || null, "data-line": line, class: whole ? "more" : null }, link);
    }));
    if (shown.length > OUTLINED) outline.append(make("li", { class: "w" }, `and ${(shown.length - OUTLINED).toLocaleString("en")} more: j and k step through them`));
    else if (!shown.length) outline.append(make("li", { class: "w" }, "no definition is known in this file"));
    whereAmI();
  }
  const OUTLINED = 600, ROOM = 16; // entries, and characters that fit an entry
  /* If there is no room beside the source, the menu opens the outline over the lower half of the page. */
  let opener = null;
  function offerOutline() {
    const outline = $(".outline"), nav = $("body > header nav");
    if (!outline || !nav) return;
    opener = make("button", { class: "only-narrow", "aria-expanded": "false" }, "Outline of this file");
    const shut = make("button", { class: "only-narrow shut" }, "Close");
    opener.addEventListener("click", () => { $("#menu").checked = false; showOutline(true); });
    shut.addEventListener("click", () => showOutline(false));
    outline.addEventListener("click", (e) => { if (e.target.closest("a")) showOutline(false); });
    nav.prepend(opener);
    outline.prepend(shut);
  }
  /* Returns whether anything changed. */
  function showOutline(open) {
    if (page.classList.contains("with-outline") === open) return false;
    page.classList.toggle("with-outline", open);
    opener.setAttribute("aria-expanded", String(open));
    if (open) { current = null; whereAmI(); $(".outline .shut").focus({ preventScroll: true }); }
    return true;
  }
  /* Returns the line at the top of the window, or at a fraction of its height. */
  function topLine(part = 0) {
    const code = $("#code").getBoundingClientRect(), bar = $(".crumb").getBoundingClientRect();
    const top = Math.max(bar.bottom, code.top, 0);
    const li = doc.elementFromPoint(code.right - 40, top + 10 + (innerHeight - top) * part)?.closest("#code ol.c > li");
    return li ? numberOf(li) : 0;
  }
  function whereAmI() {
    const inside = $("#inside");
    if (!inside || opening) return;
    const aimed = range(fragment().replace(/^u/, "L")), box = aimed && lineAt(aimed[0])?.getBoundingClientRect(); // the marked line, while it is visible
    const marked = box && box.top >= 0 && box.bottom <= innerHeight ? aimed[0] : 0, line = marked || topLine();
    let found = null; // the innermost begins last
    for (const row of outlined) {
      if (row[0] > line) break;
      if (row[5] && row[5] >= line) found = row;
    }
    /* Nobody reads a function that only ends at the top. Then it is the first function that begins in the upper third. */
    const third = marked ? 0 : topLine(1 / 3);
    if (!found || (found[0] < line && (found[2] !== "f" || found[5] < third))) {
      found = outlined.find(([first, , kind, , , last]) => first > line && first <= third && last && kind === "f") || found;
    }
    if (found === current) return;
    current = found;
    inside.replaceChildren(...(found ? [" › ", make("a", { href: `#L${found[0]}` }, make("bdi", {}, found[1])), make("a", { href: `#u${found[0]}`, class: "users" }, "uses")] : []));
    for (const one of $$(".outline [aria-current]")) one.removeAttribute("aria-current");
    const own = found && $(`.outline li[data-line="${found[0]}"] a`);
    if (own) {
      own.setAttribute("aria-current", "true");
      const box = own.closest(".outline > ol") || own.closest("ol");
      const at = own.offsetTop - box.offsetTop;
      if (at < box.scrollTop || at > box.scrollTop + box.clientHeight - 30) box.scrollTop = at - box.clientHeight / 3;
    }
  }
  function watchScrolling() {
    if (!$("#inside")) return;
    let waiting = false, settled;
    addEventListener("scroll", () => {
      clearTimeout(settled);
      settled = setTimeout(() => { whereAmI(); keepPlace(); }, 150); // lines that got their layout may have moved the visible ones
      if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; whereAmI(); }); }
    }, { passive: true });
  }

  /* If there is no room beside the source, a mark on the line says that a stop is about it, and opens the stop. */
  function signStop(note) {
    const li = lineAt(+note.dataset.line), stop = $("h2 a", note);
    if (!li || !stop || $(`a.to-stop[href="${stop.getAttribute("href")}"]`, li)) return;
    const end = li.lastChild;
    if (end?.nodeType === Node.TEXT_NODE) end.data = end.data.replace(/\n$/, ""); // else the mark would be on its own line
    li.append(make("a", { class: "to-stop", href: stop.getAttribute("href"), title: stop.textContent }, "stop"));
  }

  /* Puts each note beside its line, or below the note above it. On a narrow page, the notes form a row. */
  function placeNotes() {
    const margin = $(".margin"), line = $("#code ol.c > li");
    if (!margin || !line) return;
    const high = line.getBoundingClientRect().height, top = margin.getBoundingClientRect().top;
    const topOf = (li) => { const list = li.parentElement; return list.getBoundingClientRect().top - top + [...list.children].indexOf(li) * high; };
    margin.classList.add("placed");
    let free = 0;
    for (const note of $$(".note", margin)) {
      const at = Math.max(free, topOf(lineAt(+note.dataset.line) || line));
      note.style.top = `${at}px`;
      free = at + note.offsetHeight + 8;
    }
    margin.style.minHeight = innerWidth > 960 ? `${free}px` : "";
    if (innerWidth <= 960) for (const note of $$(".note", margin)) signStop(note);
  }

  /* --- cards for names in the source: on hover and focus, with a choice if several definitions fit --- */

  let card, cardOf = null, cardTimer;
  const named = 'ol.c a[href^="#r"], ol.c a[href^="#L"], .excerpt ol.c a';
  const MANY = 10;
  /* Returns where a name leads: [{url, line, label}], and whether this is a choice. */
  function places(link) {
    const to = link.getAttribute("href").slice(1);
    if (link.pathname !== location.pathname) { // beside a stop, a name leads directly to another page
      const line = (range(link.hash.slice(1)) || [0])[0], name = decodeURI(link.pathname).split("/").pop().replace(/\.html$/, "");
      return { choice: false, all: [{ href: link.getAttribute("href"), url: plainUrl(link.href), line, label: line ? `${name}:${line}` : name }] };
    }
    const lines = range(to);
    if (lines) return { choice: false, all: [{ href: `#${to}`, url: here, line: lines[0], label: "" }] };
    const entry = doc.getElementById(to);
    if (!entry) return { choice: false, all: [] };
    /* "Mix.cpp:5, 9" is two places */
    const all = $$("a[href]", entry).flatMap((a) => {
      const [, name, lines] = /^(.*?)(?::([\d, …]+))?$/.exec(a.textContent);
      const numbers = (lines || "").match(/\d+/g) || [""];
      return numbers.map((n) => ({ href: a.getAttribute("href").replace(/#.*/, "") + (n && `#L${n}`), url: plainUrl(a.href), line: +n,
        label: n ? `${name}:${n}` : name }));
    });
    const cut = entry.textContent.includes("…") || !!$("span", entry);
    return { off: all.length ? "" : $$("span", entry).map((span) => span.textContent).join(", "), choice: entry.classList.contains("q") || all.length > 1, all, cut, other: entry.classList.contains("k"), name: $("code", entry)?.textContent };
  }
  async function showCard(link, focus) {
    hideCard();
    const { choice, all, cut, other, name, off } = places(link);
    if (!all.length && !off) return;
    cardOf = link;
    const known = await Promise.all(all.slice(0, MANY).map(async (one) => [one, (await rowsOf(one.url)).find((row) => row[0] === one.line)]));
    if (cardOf !== link) return;
    card.replaceChildren(
      ...(off ? [make("p", { class: "what" }, name), make("p", { class: "doc" }, `${choice ? "it may be" : "defined at"} ${off}: not on this site`)] : []),
      ...(choice && all.length ? [make("p", { class: "many" }, all.length > 1 ? `${all.length} things have this name: it is not known which one is meant here`
        : "matched only by name")] : []),
      ...known.map(([one, row]) => defined(one, row, name)),
      ...(all.length > MANY || cut ? [make("p", { class: "many" }, "and more, listed at the end of the page")] : []),
      ...(other ? [make("p", { class: "many" }, "this place is of a different version from this page")] : []));
    putCard(link.getClientRects()[0] || link.getBoundingClientRect());
    link.setAttribute("aria-describedby", "card");
    if (focus) $("a", card)?.focus({ preventScroll: true });
  }
  const defined = (one, row, name) => make("div", {},
    make("p", { class: "what" }, make("a", { href: one.href }, row ? row[1] : name || one.label || one.href), " ",
      make("small", {}, [KINDS[row?.[2]], (row || name) && one.label].filter(Boolean).join(" · ")),
      row && "fcmt".includes(row[2]) ? make("a", { href: one.href.replace(/#L/, "#u"), class: "uses" }, "uses") : null),
    row?.[3] ? make("code", {}, row[3]) : null, row?.[4] ? make("p", { class: "doc" }, row[4]) : null);
  function putCard(at) {
    card.hidden = false;
    const high = card.offsetHeight, above = at.bottom + high + 8 > innerHeight && at.top > high + 8;
    card.style.left = `${Math.max(8, Math.min(at.left, page.clientWidth - card.offsetWidth - 8)) + scrollX}px`;
    card.style.top = `${(above ? at.top - high - 4 : at.bottom + 4) + scrollY}px`;
  }
  /* A name without a link, such as a type in a declaration: uses.js shows the things with that name. */
  let pointed;
  function pointAt(e) {
    clearTimeout(pointed);
    const at = e.target;
    if (!at.closest("#code ol.c > li") || at.closest("a, b, i, s, samp") || e.detail > 1 || e.button || e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return;
    pointed = setTimeout(async () => { // not if a second click, or a drag, selects text
      if (!getSelection().isCollapsed) return;
      try { await load(address("assets/uses.js")); } catch { return; }
      const given = ptx.nameAt(e.clientX, e.clientY, await rowsOf(here), defined);
      if (!given) return;
      hideCard();
      card.replaceChildren(...given.inside);
      putCard(given.box);
      $("a, button", card)?.focus({ preventScroll: true });
    }, 250);
  }
  function hideCard() {
    clearTimeout(cardTimer);
    cardOf?.removeAttribute("aria-describedby");
    cardOf = null;
    card.hidden = true;
  }
  function watchCards() {
    card = make("div", { id: "card", role: "tooltip", hidden: "" });
    doc.body.append(card);
    const later = (what, ms) => { clearTimeout(cardTimer); cardTimer = setTimeout(what, ms); };
    doc.addEventListener("pointerover", (e) => {
      if (e.pointerType === "touch") return;
      const link = e.target.closest(named);
      if (link === cardOf || e.target.closest("#card")) clearTimeout(cardTimer);
      if (link && link !== cardOf) later(() => showCard(link), 180);
      else if (!link && !card.hidden && !card.contains(doc.activeElement) && !e.target.closest("#card")) later(hideCard, 300);
      else if (!link && card.hidden) clearTimeout(cardTimer);
    });
    doc.addEventListener("focusin", (e) => {
      const link = e.target.closest(named);
      if (link && link !== cardOf && link.matches(":focus-visible")) showCard(link);
      else if (!link && !e.target.closest("#card")) hideCard();
    });
    /* A single definition is opened directly. If there are several, the reader chooses. */
    doc.addEventListener("click", (e) => {
      const link = e.target.closest(named);
      const inCard = !link && e.target.closest("#card");
      if (!inCard || e.target.closest("a, button")) hideCard(); // the card must not cover the place that it leads to
      if (!link) { if (!inCard) pointAt(e); return; }
      const { choice, all, off } = places(link);
      if (off) { e.preventDefault(); showCard(link); return; }
      if (!all.length || e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      if (choice) showCard(link, true);
      else { hideCard(); location.href = all[0].href; }
    });
  }

  /* --- progress, in the same form as the terminal's progress.json --- */

  const STOP = /^[\w.-]{1,100}#[\w.-]{1,100}$/;
  function progress(text = keep.get("progress")) {
    let data = null;
    try { data = JSON.parse(text || "{}"); } catch { /* damaged: begin again */ }
    const texts = (list) => (Array.isArray(list) ? list.filter((one) => typeof one === "string") : []);
    const last = data && typeof data.last === "object" && data.last && !Array.isArray(data.last) ? data.last : {};
    const stops = (list) => new Set(texts(list).filter((one) => STOP.test(one)));
    return { done: stops(data?.done), visited: stops(data?.visited), labs: new Set(texts(data?.labs)),
      last: Object.fromEntries(Object.entries(last).filter(([k, v]) => typeof v === "string" && STOP.test(`${k}#${v}`))) };
  }
  const asText = (known) => JSON.stringify({ format: 1, done: [...known.done].sort(), visited: [...known.visited].sort(),
    labs: [...known.labs].sort(), last: known.last }, null, 1);
  function change(how) {
    const known = progress();
    how(known);
    keep.set("progress", asText(known));
    showProgress();
  }
  const stopHere = () => (doc.body.dataset.page === "stop" ? doc.body.dataset.id : "");
  function showProgress() {
    const known = progress();
    for (const link of $$("a[data-stop]")) {
      const done = known.done.has(link.dataset.stop), seen = !done && known.visited.has(link.dataset.stop);
      link.classList.toggle("done", done);
      link.classList.toggle("seen", seen);
      if (done || seen) link.setAttribute("aria-description", done ? "read" : "visited");
      else link.removeAttribute("aria-description");
    }
    for (const one of $$(".progress[data-tour]")) {
      const { tour, stops } = one.dataset;
      const of = (some) => Math.min(+stops, [...some].filter((stop) => stop.startsWith(`${tour}#`)).length);
      const count = of(known.done), seen = of(new Set([...known.done, ...known.visited]));
      one.textContent = `${count} of ${stops} read${seen > count ? `, ${seen} visited` : ""}`;
      one.classList.toggle("all", count === +stops);
    }
    for (const bar of $$("[data-bar]")) {
      bar.dataset.bar.split(" ").forEach((stop, i) => {
        bar.children[i].className = known.done.has(stop) ? "done" : known.visited.has(stop) ? "seen" : "";
        bar.children[i].classList.toggle("here", stop === bar.dataset.current);
      });
    }
    goOn(known);
    $("#done")?.setAttribute("aria-pressed", String(known.done.has(stopHere())));
  }
  /* The home page leads to the next stop of the first tour that the reader has begun and not finished. */
  function goOn(known) {
    const link = $("#begin");
    if (!link) return;
    link.dataset.href ??= link.getAttribute("href");
    link.dataset.text ??= link.textContent;
    link.href = link.dataset.href;
    link.textContent = link.dataset.text;
    for (const one of $$(".progress[data-list]")) {
      const names = one.dataset.list.split(" "), last = names.indexOf(`${one.dataset.tour}#${known.last[one.dataset.tour]}`);
      const next = last < 0 ? "" : [...names.slice(last), ...names].find((name) => !known.done.has(name));
      if (!next) continue;
      link.href = one.dataset.ways.split(" ")[names.indexOf(next)];
      link.textContent = `Continue: ${one.dataset.title}, stop ${names.indexOf(next) + 1}`;
      return;
    }
  }
  /* A stop counts as read after its lab was predicted, its question answered, or the reader marked it. Going on is not enough. */
  function askFirst() {
    for (const form of $$("form.predict")) {
      const lab = form.closest(".lab"), status = form.nextElementSibling;
      form.addEventListener("submit", (e) => {
        e.preventDefault();
        const typed = $("input", form).value;
        if (!typed.trim()) return;
        for (const answer of lab ? $$("details", lab) : []) answer.open = true;
        status.textContent = lab ? `You predicted: ${typed}` : `You answered: ${typed}. The text of the stop says whether that is right.`;
        status.hidden = false;
        change((known) => known.done.add(stopHere()));
      });
    }
  }
  function toggleDone() {
    const stop = stopHere();
    if (!stop) return;
    let now = false;
    change((known) => { now = !known.done.delete(stop); if (now) known.done.add(stop); });
    say(now ? "read" : "not read");
  }
  function exportProgress() {
    const link = make("a", { href: `data:application/json,${encodeURIComponent(asText(progress()))}`, download: "progress.json" });
    doc.body.append(link);
    link.click();
    link.remove();
  }
  async function importProgress(given) {
    if (!given) return;
    const text = given.size < 4e6 ? await given.text() : "";
    let fine = false;
    try { fine = JSON.parse(text).format === 1; } catch { /* reported below */ }
    if (!fine) { say(`${given.name} is not a progress file of format 1`); return; }
    const other = progress(text);
    change((known) => {
      for (const one of other.done) known.done.add(one);
      for (const one of other.visited) known.visited.add(one);
      for (const one of other.labs) known.labs.add(one);
      Object.assign(known.last, other.last);
    });
    say(`${other.done.size} stops read, from ${given.name}${keep.blocked ? "; this browser forgets them when you leave this page" : ""}`);
  }

  /* --- the operators of a page, filtered by group, and by the typed text in the name or its line of documentation --- */

  function watchFilter() {
    const field = $("#filter"), left = $("#left");
    if (!field) return;
    const entries = $$("dl.ops > div").map((entry) => [entry, $("dt", entry).textContent.toLowerCase(), entry.textContent.toLowerCase(), (entry.dataset.groups || "").split(" ")]);
    const sections = $$("section.letter");
    let group = "", timer;
    function filter() {
      const text = field.value.trim().toLowerCase(), names = text && entries.some(([, name]) => name.includes(text));
      const shown = new Set();
      for (const [entry, name, whole, groups] of entries) {
        const fits = (!text || (names ? name : whole).includes(text)) && (!group || groups.includes(group));
        entry.hidden = !fits;
        if (fits) shown.add(name);
      }
      for (const section of sections) section.hidden = !$("dl.ops > div:not([hidden])", section);
      left.textContent = text || group ? `${shown.size.toLocaleString("en")} of ${new Set(entries.map(([, name]) => name)).size.toLocaleString("en")} names` : "";
    }
    field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 60); });
    for (const button of $$("[data-group]")) {
      button.addEventListener("click", () => {
        group = group === button.dataset.group ? "" : button.dataset.group;
        for (const one of $$("[data-group]")) one.setAttribute("aria-pressed", String(one.dataset.group === group));
        filter();
      });
    }
    if (field.value) filter(); // the browser kept the typed text
  }

  /* Folded parts are open on paper. */
  function watchPrinting() {
    let opened = [];
    addEventListener("beforeprint", () => {
      opened = $$("main details:not([open])");
      for (const one of opened) one.open = true;
    });
    addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
  }

  /* --- keys --- */

  const KEYS = [["/", "search; :120 goes to a line"], ["j k", "next and previous symbol, stop, or step of a trace"], ["n p", "next and previous stop in this file; on a stop, the next and previous stop of the tour"],
    ["t", "light or dark"], ["g h", "home"], ["c", "copy a link to this place"], ["o", "open or close a whole trace"],
    ["u", "uses of the marked symbol"], ["d", "mark this stop as read, or not"], ["Esc", "close the open panel"], ["?", "this list"]];
  function help() {
    let dialog = $("#keys");
    if (!dialog) {
      dialog = make("dialog", { id: "keys", "aria-labelledby": "keys-title" }, make("h2", { id: "keys-title" }, "Keys"),
        make("dl", {}, ...KEYS.flatMap(([key, what]) => [
          make("dt", {}, ...key.split(" ").flatMap((one) => [make("kbd", {}, one), " "])), make("dd", {}, what)])),
        make("p", {}, "Click a line number to put the line into the address. Shift-click another number to select all lines between."),
        make("form", { method: "dialog" }, make("button", { autofocus: "" }, "Close")));
      doc.body.append(dialog);
    }
    if (dialog.open) dialog.close(); else dialog.showModal();
  }
  /* Returns the next of these from the reader's position: the focus or the last target, else the line at the top. */
  let at = null;
  function step(list, by, what) {
    const shown = list.filter((one) => (one.checkVisibility ? one.checkVisibility() : one.getClientRects().length));
    if (!shown.length) { say(`there is no ${what} on this page`); return; }
    let i = shown.indexOf(shown.includes(doc.activeElement) ? doc.activeElement : at);
    const box = i >= 0 && shown[i].getBoundingClientRect();
    if (i >= 0 && box.bottom > 0 && box.top < innerHeight) i += by;
    else {
      const below = shown.findIndex((one) => one.getBoundingClientRect().top > 0);
      i = by > 0 ? (below < 0 ? shown.length : below) : (below < 0 ? shown.length : below) - 1;
    }
    if (i < 0 || i >= shown.length) { say(`that was the ${by > 0 ? "last" : "first"} ${what}`); return; }
    at = shown[i];
    see(at, true);
  }
  async function stepSymbol(by) {
    const rows = await rowsOf(here);
    const lines = [...new Set(rows.map((row) => row[0]))].sort((a, b) => a - b);
    if (!lines.length) { say("no symbol is known in this file"); return; }
    let now = (range(fragment()) || [0])[0] || (fragment().startsWith("s=") ? from : 0);
    const box = now && lineAt(now)?.getBoundingClientRect();
    if (!box || box.bottom < 0 || box.top > innerHeight) {
      now = 0;
      const first = topLine();
      if (first) now = first - (by > 0 ? 1 : 0);
    }
    const next = by > 0 ? lines.find((n) => n > now) : lines.filter((n) => n < now).pop();
    if (!next) { say(`that was the ${by > 0 ? "last" : "first"} symbol`); return; }
    location.replace(`#L${next}`);
    say(rows.filter((row) => row[0] === next).map((row) => `${KINDS[row[2]] || ""} ${row[1]}`).join(", "));
  }
  function walk(by) {
    const kind = doc.body.dataset.page;
    if (kind === "stop") {
      const link = $(`main a[rel~=${by > 0 ? "next" : "prev"}]`);
      if (link) link.click(); else say(`that was the ${by > 0 ? "last" : "first"} stop`);
    } else if (kind === "trace") step($$(".trace summary, .trace .leaf"), by, "step");
    else if ($("#code")) stepSymbol(by);
    else step($$("main a[data-stop]").length ? $$("main a[data-stop]") : $$("main li a"), by, "entry");
  }
  const stepNote = (by) => (stopHere() ? walk(by) : step($$(".note"), by, "stop in this file"));
  const openAll = (yes) => { for (const one of $$(".trace details")) one.open = yes; };
  const TITLES = { copy: "Copy a link to this place (c)", theme: "Light or dark (t)", help: "Keys (?)" };
  const BUTTONS = { theme: switchTheme, help, copy: copyLink, done: toggleDone, export: exportProgress,
    import: () => $("#imported")?.click(), unfold: () => openAll(true), fold: () => openAll(false) };
  let before = "", beforeTimer;
  function key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || e.isComposing) return;
    if (e.key === "Escape" && !card.hidden) {
      const back = cardOf;
      const inside = card.contains(doc.activeElement);
      hideCard();
      if (inside) { back?.focus({ preventScroll: true }); hideCard(); }
      return;
    }
    if (e.key === "Escape" && (showOutline(false) || ptx.closeUses?.())) return;
    if (e.target.closest?.("input, textarea, select, [contenteditable]")) return;
    if (e.target.closest?.("dialog[open]") && e.key !== "?") return; // the key may still go to a dialog that was just closed
    const pressed = before === "g" ? `g ${e.key}` : e.key;
    before = e.key === "g" ? "g" : "";
    clearTimeout(beforeTimer);
    beforeTimer = setTimeout(() => { before = ""; }, 1000);
    const act = {
      "/": () => { const field = $("#q"); field?.focus({ preventScroll: true }); field?.select(); }, "?": help, t: switchTheme, c: copyLink, d: toggleDone,
      u: () => { const line = (range(fragment()) || [from])[0]; if ($("#code") && line) { keepPlace(); location.hash = `u${line}`; } },
      j: () => walk(1), k: () => walk(-1), n: () => stepNote(1), p: () => stepNote(-1),
      o: () => openAll(!$(".trace details[open]")), "g h": () => { location.href = address("index.html"); },
    }[pressed];
    if (!act) return;
    e.preventDefault();
    act();
  }

  /* --- when the page is loaded --- */

  window.ptx = { file, load, say, address, make, root, unpack };
  doc.addEventListener("DOMContentLoaded", () => {
    teller = make("p", { class: "teller", role: "status" });
    doc.body.append(teller);
    openPage();
    watchCards();
    placeNotes();
    addEventListener("resize", placeNotes);
    watchScrolling();
    readOutline();
    offerOutline();
    watchFilter();
    watchPrinting();
    doc.addEventListener("click", (e) => { // the reader follows a link to the current address again
      const link = e.target.closest('#code a[href^="#u"], .crumb a[href^="#u"]');
      if (link && link.getAttribute("href") === location.hash) { e.preventDefault(); openUses(+location.hash.slice(2)); }
    });
    if (stopHere()) {
      const [tour, stop] = stopHere().split("#");
      change((known) => { known.last[tour] = stop; known.visited.add(stopHere()); });
      askFirst();
    } else showProgress();
    if (keep.blocked) for (const one of $$(".blocked")) one.hidden = false;
    for (const [id, title] of Object.entries(TITLES)) doc.getElementById(id).title = title;
    for (const [id, act] of Object.entries(BUTTONS)) doc.getElementById(id)?.addEventListener("click", () => act());
    $("#imported")?.addEventListener("change", (e) => { importProgress(e.target.files[0]); e.target.value = ""; });
    doc.addEventListener("keydown", key);
    doc.addEventListener("click", lineClicked);
    if (matchMedia("(pointer: coarse)").matches && $("#q")) $("#q").placeholder = "Search"; // a phone has no "/" key
    // Not with :has() in the style sheet: the browser would check it at every change of the page.
    for (const [event, typing] of [["focus", true], ["blur", false]]) $("#q")?.addEventListener(event, () => page.classList.toggle("typing", typing));
    if ($("#code")) history.scrollRestoration = "manual";
    doc.addEventListener("click", (e) => { if (e.target.closest("a[href]")) keepPlace(); }, true);
    addEventListener("hashchange", () => { keepUses(); arrive(); still?.(); still = null; comeBack(); });
    setTimeout(() => { arrive(); comeBack(); }); // search.js is deferred too, and is loaded by then
  });
  addEventListener("pageshow", (e) => { if (e.persisted) { paint(keep.get("theme")); showProgress(); } });
})();
