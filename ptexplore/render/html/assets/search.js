/* Searches while you type, in shards that script tags load, so that it works from file://. view/site/shards.py describes a shard. */
(function () {
  "use strict";
  const { load, address, make } = ptx;
  const { read, parts, lowered, askedOperator, kernelNames, readBy, ranked, answering, respelled, nearRoots } = ptx.ranking;
  const KINDS = [["", "all"], ["fcmtve", "symbols"], ["o", "operators"], ["p", "files"], ["gnk", "notes"], ["d", "folders"], ["h", "headings"]];
  if (document.querySelector("header nav a[href$='traces/index.html']")) KINDS.push(["x", "traces"]);
  const CALLED = { f: "function", c: "class", m: "macro", t: "type", v: "variable", e: "enum", o: "operator", p: "file", d: "folder", g: "tour",
    n: "stop", h: "heading", k: "concept", x: "trace" };
  const SHOWN = 40, LEAST = 2, WORDS_ASKED = 4, WORDS_READ = 6, ALIKE = 3;

  /* --- data --- */

  let tables = null, wanted = 0; // one table for each family of shards, all of them read; files of topics
  const shards = new Map(), topics = [];
  ptx.table = (given, words, files) => {
    tables = given.map((one) => new Map(Object.entries(one)));
    readBy(words);
    wanted = files;
  };
  let docs = {}; // a line on each of ATen's operators, by its name without the overload
  ptx.docs = (given) => { docs = given; };
  const tourTitles = new Map(); // by the tour's name; a tour comes before its stops
  function contextOf(kind, name, title, summary) {
    if (kind === "g") tourTitles.set(name, title);
    const [tour, stop] = name.split("#");
    return kind === "d" ? title : stop ? tourTitles.get(tour) ?? tour : kind === "g" ? summary : name;
  }
  ptx.topics = (rows) => topics.push(...rows.map(([kind, number, names, title, summary, titled, about, words, href]) => (
    { kind, number, names, title, name: kind === "d" ? names[0] : title, context: contextOf(kind, names[0], title, summary), summary, titled: titled.split(" "),
      about: about ? about.split(" ") : [], words: words ? words.split(" ") : [], held: new Set(words.split(" ")), href })));
  /* Reads sorted texts: each begins with the number of letters that it shares with the text before it. */
  const unpacked = (texts) => {
    let last = "";
    return texts.map((text) => {
      const same = text.charCodeAt(0) - 48; // in characters; one may be two of JavaScript's
      last = (/[\ud800-\udfff]/.test(last) ? [...last].slice(0, same).join("") : last.slice(0, same)) + text.slice(1);
      return last;
    });
  };
  ptx.shard = (number, { u, c, r: rows, more }) => {
    const urls = unpacked(u), contexts = unpacked(c);
    shards.set(number, { more: !!more, rows: rows.split("\n").filter(Boolean).map((row) => {
      const [name, kind, url, hash, given] = row.split("\t"), context = contexts[given] || "", likely = Number(kind[1]);
      const fragment = /^\d+$/.test(hash) ? `L${hash}` : hash;
      return { name, kind: kind[0], minor: likely % 2 === 1, area: likely >> 1, uses: parseInt(kind[2], 16), method: kind[3] === "m",
        href: urls[url] + (fragment ? `#${fragment}` : ""), context, low: lowered(name), python: /\.pyi?\.html$/.test(urls[url]),
        path: kind[0] === "d" ? (context ? `${context}/${name}` : name) : urls[url].replace(/^src\//, "").replace(/\.html$/, "") };
    }) });
  };
  /* If too many things have a name, the others are filed by their scope: "call dispatcher". */
  const crowded = (name, outer) => `${lowered(name)} ${lowered(outer)}`;
  const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
  function beginning(table, term) {
    const bare = term.replace(/^[^\p{L}\p{N}]+/u, "");
    for (const one of new Set([term, bare, plain(term)])) {
      for (let n = one.length; n >= LEAST; n--) if (table.has(one.slice(0, n))) return table.get(one.slice(0, n));
    }
    return null;
  }
  const given = async () => { if (!tables) await load(address("search/table.js")); };
  /* Returns the rows that may fit by name: the name, or a word in it, begins like a term. */
  let last = { of: "", rows: [], more: false }; // most letters need the same shards as the letter before
  async function rowsFor(terms) {
    await given();
    const numbers = terms.flatMap((term) => tables.map((table) => beginning(table, term)));
    const needed = [...new Set(numbers.filter((one) => one !== null))].sort((a, b) => a - b), of = needed.join(" ");
    if (of === last.of) return last;
    await Promise.all(needed.filter((one) => !shards.has(one)).map((one) => load(address(`search/${one}.js`))));
    const found = needed.map((one) => shards.get(one)), seen = new Set(), rows = [];
    for (const row of found.flatMap((one) => one.rows)) {
      const same = `${row.kind} ${row.href} ${row.name}`;
      if (!seen.has(same)) { seen.add(same); rows.push(row); }
    }
    last = { of, rows, more: found.some((one) => one.more) };
    return last;
  }
  /* Returns the beginnings of names for which shards are read. */
  function termsOf(asked) {
    const terms = new Set([lowered(asked.call), lowered(asked.last)]);
    if (asked.joined) for (const one of [asked.joined, ...asked.outer.slice(-WORDS_ASKED)]) terms.add(one);
    else if (asked.path && asked.outer.length) terms.add(asked.outer.at(-1));
    if (askedOperator(asked)) for (const one of kernelNames(asked)) terms.add(one);
    if (asked.outer.length) terms.add(crowded(asked.last, asked.outer.at(-1)));
    if (asked.last.includes(".")) terms.add(lowered(asked.last.split(".")[0]));
    for (const { word, others } of answering(asked, topics).terms.slice(0, WORDS_READ)) for (const one of [word, ...others]) terms.add(one);
    if (!asked.joined) for (const root of nearRoots(lowered(asked.outer[0] ?? asked.last))) terms.add(root);
    return [...terms].filter((one) => plain(one).length >= LEAST);
  }
  /* Returns everything that fits, best first; how it was searched; whether longer beginnings have more. */
  async function search(text, kinds = "") {
    await given();
    if (topics.length === 0) await Promise.all(["docs", ...Array.from({ length: wanted }, (_, n) => `topics-${n}`)].map((one) => load(address(`search/${one}.js`))));
    let asked = read(text), { rows, more } = await rowsFor(termsOf(asked));
    const near = respelled(asked, rows, topics);
    if (near.remarks.length) {
      asked = read(near.text);
      ({ rows, more } = await rowsFor(termsOf(asked)));
    }
    const of = (some) => (kinds ? some.filter((one) => kinds.includes(one.kind)) : some);
    const answer = ranked(asked, of(rows), of(topics)), times = new Map();
    /* A class that a hundred headers declare is shown at its definition and at two declarations. */
    const results = answer.results.map((one) => (asked.line && one.kind === "p" ? { ...one, href: `${one.href}#L${asked.line}` } : one)).filter((one) => {
      const alike = `${one.kind} ${one.context} ${one.names ? one.href : one.name}`;
      times.set(alike, (times.get(alike) || 0) + 1);
      return times.get(alike) <= ALIKE;
    });
    return { results, remarks: [...near.remarks, ...answer.remarks], more };
  }
  ptx.search = search;
  /* Returns the places of a symbol with exactly that qualified name, as addresses from the root. */
  ptx.named = async (name) => {
    const wanted = name.toLowerCase(), pieces = parts(name.replaceAll(".", " ")), term = pieces.at(-1);
    try {
      const { rows } = term ? await rowsFor([lowered(term), ...(pieces.length > 1 ? [crowded(term, pieces.at(-2))] : [])]) : { rows: [] };
      return [...new Set(rows.filter((one) => "fcmtve".includes(one.kind) && [`${one.context}::${one.name}`, `${one.context}.${one.name}`, one.name]
        .some((full) => full.toLowerCase() === wanted)).map((one) => one.href))];
    } catch { return []; }
  };

  /* --- the box --- */

  const input = document.querySelector("#q"), box = document.querySelector("#results");
  if (!input || !box) return;
  const NOTHING = document.documentElement.dataset.scope === "all" ? "nothing found"
    : "nothing found: this site has only a part of the source";
  let kinds = "", results = [], active = -1, turn = 0;
  const list = make("ul", { role: "listbox", id: "found", "aria-label": "Results" });
  const status = make("p", { role: "status", class: "told" });
  const choice = make("div", { class: "kinds", role: "group", "aria-label": "Kinds of results" }, ...KINDS.map(([value, label]) =>
    make("button", { type: "button", "data-kinds": value, "aria-pressed": String(value === "") }, label)));
  box.append(choice, list, status);
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-controls": "found", "aria-expanded": "false",
    autocapitalize: "none" })) input.setAttribute(name, value);
  function open(yes) {
    box.hidden = !yes;
    input.setAttribute("aria-expanded", String(yes));
    if (!yes) point(-1);
  }
  function point(to) {
    list.children[active]?.setAttribute("aria-selected", "false");
    active = to;
    const item = list.children[to];
    if (item) {
      item.setAttribute("aria-selected", "true");
      item.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", item.id);
    } else input.removeAttribute("aria-activedescendant");
  }
  const fileOf = (one) => ("fcmtve".includes(one.kind) ? one.href.replace(/\.html(#.*)?$/, "").split("/").pop() : "");
  /* Returns the note on a folder, whether it was found by the note or by its name; for an operator, a line on it. */
  const about = (one) => {
    const written = one.kind === "d" && (one.summary ? one : topics.find((topic) => topic.kind === "d" && topic.names[0] === one.path));
    const note = written ? [written.title, written.summary].filter(Boolean).join(": ") : "";
    const does = one.kind === "o" && one.context === "aten" && Object.hasOwn(docs, one.name.split(".")[0]) ? docs[one.name.split(".")[0]] : "";
    return [written === one ? "" : one.context, fileOf(one), note || does].filter(Boolean).join(" · ");
  };
  const option = (one, i) => make("li", { role: "option", id: `found-${i}`, "aria-selected": "false" },
    make("span", { class: `kind ${one.kind}` }, CALLED[one.kind] || one.kind), " ", make("b", {}, one.name), " ", make("small", {}, about(one)));
  async function look() {
    const mine = ++turn;
    if (plain(input.value).length < LEAST) {
      results = [];
      list.replaceChildren();
      open(false);
      input.dataset.answered = input.value;
      return;
    }
    let answer;
    try { answer = await search(input.value, kinds); } catch { answer = null; }
    if (mine !== turn) return;
    const all = answer ? answer.results : [];
    results = all.slice(0, SHOWN);
    list.replaceChildren(...results.map(option));
    const how = !answer ? "the data for the search cannot be loaded" : !all.length ? NOTHING
      : all.length > SHOWN ? `the first ${SHOWN} of ${all.length.toLocaleString("en")}${answer.more ? " or more" : ""}` : `${all.length} found${answer.more ? "; type more letters for more" : ""}`;
    status.textContent = [how, ...(answer ? answer.remarks : [])].join("; ");
    open(true);
    point(-1);
    input.dataset.answered = input.value;
  }
  function go(one, e) {
    if (!one) return;
    if (e.ctrlKey || e.metaKey || e.button === 1) { window.open(address(one.href), "_blank", "noopener"); return; }
    open(false);
    input.blur();
    location.href = address(one.href);
  }
  input.addEventListener("input", look);
  input.addEventListener("focus", () => {
    if (!tables) load(address("search/table.js")).catch(() => {});
    if (results.length) open(true);
  });
  input.addEventListener("keydown", (e) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[e.key];
    if (by && results.length) {
      if (box.hidden) open(true);
      const to = active + by, last = results.length - 1;
      point(Math.abs(by) > 1 ? Math.max(0, Math.min(last, to)) : to < -1 ? last : to > last ? -1 : to);
    } else if (e.key === "Enter" && /^:\d+$/.test(input.value)) { input.blur(); location.hash = `#L${input.value.slice(1)}`; } else if (e.key === "Enter") go(results[Math.max(active, 0)], e);
    else if (e.key === "Escape") { if (box.hidden) input.blur(); else open(false); } else return;
    e.preventDefault();
  });
  list.addEventListener("pointerdown", (e) => e.preventDefault()); // the focus stays in the box
  const clicked = (e) => { const item = e.target.closest("[role=option]"); if (item) go(results[[...list.children].indexOf(item)], e); };
  list.addEventListener("click", clicked);
  list.addEventListener("auxclick", clicked);
  choice.addEventListener("click", (e) => {
    const button = e.target.closest("button");
    if (!button) return;
    kinds = button.dataset.kinds;
    for (const one of choice.children) one.setAttribute("aria-pressed", String(one === button));
    input.focus({ preventScroll: true });
    look();
  });
  const ours = (node) => node && (box.contains(node) || input.form.contains(node));
  for (const part of [box, input.form]) part.addEventListener("focusout", (e) => { if (e.relatedTarget && !ours(e.relatedTarget)) open(false); });
  document.addEventListener("pointerdown", (e) => { if (!ours(e.target)) open(false); });
  input.form.addEventListener("submit", (e) => e.preventDefault());
  ptx.ask = (text) => { input.value = text; input.focus({ preventScroll: true }); look(); };
})();
