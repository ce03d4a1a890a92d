/* Search as you type, over shards that script tags load, so that it works from file://. docs/html.md says what a shard is. */
(function () {
  "use strict";
  const { load, address, make } = ptx;
  const KINDS = [["", "all"], ["fcmtve", "symbols"], ["o", "operators"], ["p", "files"], ["n", "notes"], ["hk", "headings"], ["x", "traces"]];
  const CALLED = { f: "function", c: "class", m: "macro", t: "type", v: "variable", e: "enum", o: "operator", p: "file", n: "note",
    h: "heading", k: "concept", x: "trace" };
  const FIRST = { o: 0, k: 1, n: 1, x: 1, h: 3 }; // of two that fit equally well; 2 is all the rest
  const SHOWN = 40, LEAST = 2, ALIKE = 3;

  /* --- data --- */

  let tables = null; // one a family of shards, each asked
  const shards = new Map();
  ptx.table = (...given) => { tables = given.map((one) => new Map(Object.entries(one))); };
  /* Sorted texts: each begins with how many letters it shares with the one before it. */
  const unpacked = (texts) => {
    let last = "";
    return texts.map((text) => {
      const same = text.charCodeAt(0) - 48; // characters, which two of JavaScript's may make
      last = (/[\ud800-\udfff]/.test(last) ? [...last].slice(0, same).join("") : last.slice(0, same)) + text.slice(1);
      return last;
    });
  };
  ptx.shard = (number, { u, c, r: rows, more }) => {
    const urls = unpacked(u), contexts = unpacked(c);
    shards.set(number, { more: !!more, rows: rows.split("\n").filter(Boolean).map((row) => {
      const [name, kind, url, hash, context] = row.split("\t");
      const fragment = /^\d+$/.test(hash) ? `L${hash}` : hash;
      const last = kind === "p" ? name.slice(name.lastIndexOf("/") + 1) : name;
      return { name, kind, href: urls[url] + (fragment ? `#${fragment}` : ""), context: contexts[context] || "", last, low: last.toLowerCase(),
        whole: `${contexts[context] || ""} ${name}`.toLowerCase(), words: null };
    }) });
  };
  const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
  /* "at::native::addMM" and "native/Mix.cpp" are asked for word by word; the last one chooses the shard. */
  const termsOf = (asked) => asked.toLowerCase().split(/\s+|::|\//).filter((one) => plain(one));
  function beginning(table, term) {
    const bare = term.replace(/^[^\p{L}\p{N}]+/u, "");
    for (const one of new Set([term, bare, plain(term)])) {
      for (let n = one.length; n >= LEAST; n--) if (table.has(one.slice(0, n))) return table.get(one.slice(0, n));
    }
    return null;
  }
  async function rowsFor(terms) {
    if (!tables) await load(address("search/table.js"));
    const numbers = tables.map((table) => beginning(table, terms.at(-1)) ?? (terms.length > 1 ? beginning(table, terms.at(-2)) : null));
    if (terms.length > 1) numbers.push(...tables.map((table) => beginning(table, terms.join("")))); // "dispatch key" is DispatchKey, too
    const needed = [...new Set(numbers.filter((one) => one !== null))];
    await Promise.all(needed.filter((one) => !shards.has(one)).map((one) => load(address(`search/${one}.js`))));
    const found = needed.map((one) => shards.get(one));
    return { rows: found.flatMap((one) => one.rows), more: found.some((one) => one.more) };
  }

  /* --- ranking --- */

  function wordsOf(name) {
    return name.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2").replace(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, "$1 $2")
      .toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  }
  /* "tenit" finds TensorIterator: every piece of it begins a word, in their order. */
  function begins(asked, words, at = 0) {
    if (!asked) return true;
    for (let i = at; i < words.length; i++) {
      for (let n = 0; n < asked.length && n < words[i].length && asked[n] === words[i][n];) {
        n++;
        if (begins(asked.slice(n), words, i + 1)) return true;
      }
    }
    return false;
  }
  function rank(one, term, bare) {
    if (one.low === term || (one.kind === "o" && one.low.startsWith(`${term}.`))) return 0; // add is add.Tensor, add.out, …
    if (one.low.startsWith(term)) return one.low[term.length] === "." ? 1 : 2;
    one.words ??= wordsOf(one.last);
    if (one.words.includes(term)) return 3;
    if (one.words.some((word) => word.startsWith(term))) return 4;
    if (one.low.includes(term)) return 5;
    if (bare.length > 2 && bare.length < 24 && begins(bare, one.words)) return 6;
    return one.whole.includes(term) ? 7 : -1;
  }
  function ranked(rows, terms, kinds) {
    const bare = terms.map(plain), found = [], seen = new Set(), times = new Map();
    for (const one of rows) {
      if (kinds && !kinds.includes(one.kind)) continue;
      const same = `${one.kind} ${one.href} ${one.name}`;
      if (seen.has(same)) continue;
      seen.add(same);
      /* The last word is what is looked for; those before it say where. */
      let place = rank(one, terms.at(-1), bare.at(-1));
      for (let i = 0; i < terms.length - 1 && place >= 0; i++) {
        if (!one.whole.includes(terms[i])) place = rank(one, terms[i], bare[i]) < 0 ? -1 : place;
      }
      if (terms.length > 1 && plain(one.last) === bare.join("")) place = 0;
      if (place < 0) continue;
      /* A class that a hundred headers declare is shown where it is defined, and twice more. */
      const alike = `${one.kind} ${one.whole}`, count = (times.get(alike) || 0) + 1;
      times.set(alike, count);
      if (count <= ALIKE) found.push([place, one]);
    }
    /* What is left open stays as the shard has it: definitions before declarations and tests. A class comes before what
       makes one; of an operator's overloads the plain one, then .Tensor, and the out= forms last. */
    const first = (one) => {
      if (one.kind === "o") return (one.context !== "aten" ? 0.5 : 0) + (/[._]out$/.test(one.low) ? 0.3 : /\.(?!tensor$)/.test(one.low) ? 0.2 : one.low.includes(".") ? 0.1 : 0);
      if (one.kind === "c") return 1.9;
      return FIRST[one.kind] ?? (one.kind === "f" && /(?:^|::|\.)([^:.]+)$/.exec(one.context)?.[1] === one.name ? 2.1 : 2);
    };
    found.sort(([a, x], [b, y]) => a - b || first(x) - first(y) || x.last.length - y.last.length);
    return found.map(([, one]) => one);
  }
  /* Where a symbol of exactly that qualified name is: addresses from the root. */
  ptx.named = async (name) => {
    const wanted = name.toLowerCase(), terms = termsOf(name.replaceAll(".", " "));
    try {
      const { rows } = terms.length ? await rowsFor(terms) : { rows: [] };
      return [...new Set(rows.filter((one) => "fcmtve".includes(one.kind) && [`${one.context}::${one.name}`, `${one.context}.${one.name}`, one.name]
        .some((full) => full.toLowerCase() === wanted)).map((one) => one.href))];
    } catch { return []; }
  };

  /* --- the box --- */

  const input = document.querySelector("#q"), box = document.querySelector("#results");
  if (!input || !box) return;
  let kinds = "", results = [], active = -1, turn = 0;
  const list = make("ul", { role: "listbox", id: "found", "aria-label": "Results" });
  const told = make("p", { role: "status", class: "told" });
  const choice = make("div", { class: "kinds", role: "group", "aria-label": "What to look for" }, ...KINDS.map(([value, label]) =>
    make("button", { type: "button", "data-kinds": value, "aria-pressed": String(value === "") }, label)));
  box.append(choice, list, told);
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
  const option = (one, i) => make("li", { role: "option", id: `found-${i}`, "aria-selected": "false" },
    make("span", { class: `kind ${one.kind}` }, CALLED[one.kind] || one.kind), " ", make("b", {}, one.name), " ", make("small", {}, [one.context, fileOf(one)].filter(Boolean).join(" · ")));
  /* torch.add, F.conv2d, x.view and Tensor.add_ are ways of Python to write an operator: its name is looked for, what stands
     in that very module comes first, and what is written so follows. */
  const PYTHON = /^(torch|tensor|[a-z]|nn|functional|aten)((?:\.\w+)*)\.(\w+)\(?$/i;
  async function answers(text, terms) {
    const shard = await rowsFor(terms), written = ranked(shard.rows, terms, kinds), python = PYTHON.exec(text.trim());
    if (!python || plain(python[3]).length < LEAST) return { all: written, more: shard.more };
    const name = python[3].toLowerCase(), module = (python[1] + python[2]).toLowerCase(), other = await rowsFor([name]);
    const meant = ranked(other.rows, [name], kinds), own = meant.filter((one) => one.low === name && one.context.toLowerCase() === module);
    return { all: [...new Set([...own, ...meant.filter((one) => one.low === name || one.kind === "o"), ...written, ...meant])], more: shard.more || other.more };
  }
  async function look() {
    const terms = termsOf(input.value), mine = ++turn;
    if (!terms.length || plain(input.value).length < LEAST) {
      results = [];
      list.replaceChildren();
      open(false);
      input.dataset.answered = input.value;
      return;
    }
    let shard;
    try { shard = await answers(input.value, terms); } catch { shard = null; }
    if (mine !== turn) return;
    const all = shard ? shard.all : [];
    results = all.slice(0, SHOWN);
    list.replaceChildren(...results.map(option));
    told.textContent = !shard ? "the search's data cannot be loaded" : !all.length ? "nothing found"
      : all.length > SHOWN ? `the first ${SHOWN} of ${all.length}${shard.more ? " or more" : ""}` : `${all.length} found${shard.more ? "; go on typing for more" : ""}`;
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
    input.focus();
    look();
  });
  const ours = (node) => node && (box.contains(node) || input.form.contains(node));
  for (const part of [box, input.form]) part.addEventListener("focusout", (e) => { if (e.relatedTarget && !ours(e.relatedTarget)) open(false); });
  document.addEventListener("pointerdown", (e) => { if (!ours(e.target)) open(false); });
  input.form.addEventListener("submit", (e) => e.preventDefault());
  ptx.ask = (text) => { input.value = text; input.focus(); look(); };
})();
