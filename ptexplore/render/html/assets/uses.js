/* Shows the uses of a definition, its calls and its classes in a pane below the page, when the reader asks.
 *
 * site.js loads this file with the first such question. view/site/uses.py describes a shard of uses.
 */
(function () {
  "use strict";
  const { load, address, make, unpack } = ptx;
  const KINDS = { c: "", a: "passed on", o: "overrides", i: "inherits", m: "macro", y: "YAML", p: "import", r: "registers" };
  const FIRST = 40; // lines of uses that are open at first
  const doc = document;

  /* --- data: the table has the number of shards; the letters of a name decide its shard --- */

  let table = null;
  const packed = new Map(), shards = new Map();
  ptx.usesTable = (given) => { table = given; };
  ptx.uses = (number, text) => { packed.set(number, text); };
  function shardOf(name) {
    let number = 0;
    for (const letter of name) number = (Math.imul(number, 31) + letter.codePointAt(0)) >>> 0;
    return number % table.shards;
  }
  async function entryOf(name) {
    if (!table) await load(address("uses/table.js"));
    const number = shardOf(name);
    if (!shards.has(number)) {
      shards.set(number, load(address(`uses/${number}.js`)).then(() => unpack(packed.get(number))).then(JSON.parse));
    }
    const { f, s, n } = await shards.get(number);
    if (!Object.hasOwn(n, name)) return null;
    const file = (at) => {
      if (at < 0) return null;
      const [path, url] = typeof f[at] === "string" ? [f[at], `src/${f[at]}.html`] : f[at];
      return { path, url, name: path.slice(path.lastIndexOf("/") + 1) };
    };
    const caller = ([text, at, line, call, sure]) => ({ name: s[text], file: file(at), line, call, sure, choices: 1 });
    const called = ([text, at, line, call, sure, choices]) => ({ name: s[text], file: file(at), line, call, sure, choices });
    const some = ([list, more]) => ({ list: list.map(caller), more });
    const [files, more, used, rows, resolved, outside, outsideMore] = n[name], known = new Set(resolved);
    const pairs = (flat) => flat.filter((_each, n) => n % 2 === 0).map((line, n) => ({ line, spelling: flat[2 * n + 1] }));
    return {
      name, more, used, outsideMore, outside: outside.map(([at, uses]) => ({ ...file(at), uses: pairs(uses) })),
      files: files.map(([at, uses]) => ({ ...file(at), uses: uses.map(([line, kind, spelling, inside, text]) => ({ line, kind, spelling, inside: s[inside], text, resolved: known.has(spelling) })) })),
      definitions: rows.map(([text, kind, at, line, fitting, callers, moreCallers, callees, moreCallees, bases, derived, below, above, used, certain, sure, own, same, overridden, mayOverride, sole, aside]) => ({
        qualified: s[text], kind, file: file(at), line, fitting: fitting && new Set(fitting), callers: callers.map(caller), moreCallers,
        callees: callees.map(called), moreCallees, bases: bases.map(called), derived: some(derived), below: some(below), above: some(above), used, certain: certain && new Set(certain), sure, own, same, overridden, mayOverride, sole, aside })),
    };
  }
  /* Returns the last part of "at::native::operator()" or "torch.nn.functional.linear": the name of an entry. */
  const lastOf = (qualified) => /(?:^|::)(operator\b.*)$/.exec(qualified)?.[1] ?? qualified.split(/::|\./).pop();
  const withLine = (file, line) => (file?.url ? `${address(file.url)}${line ? `#L${line}` : ""}` : null);
  async function definitionAt(qualified, file, line) {
    const rows = (await entryOf(lastOf(qualified)))?.definitions || [];
    return rows.find((row) => row.file.path === file.path && row.line === line) || rows.find((row) => row.qualified === qualified);
  }

  /* --- the pane --- */

  let pane, body, title, tabs, back, asked = [];
  function open(heading) {
    if (!pane) {
      title = make("h2", { id: "uses-title" });
      tabs = make("div", { class: "tabs", role: "group", "aria-label": "Views" });
      const shut = make("button", { type: "button", class: "shut", "aria-label": "Close" }, "×");
      body = make("div", { class: "body", tabindex: "0", role: "group", "aria-labelledby": "uses-title" });
      pane = make("section", { id: "uses", "aria-labelledby": "uses-title" }, make("header", {}, title, tabs, shut), body);
      shut.addEventListener("click", close);
      pane.addEventListener("keydown", (e) => { if (e.key === "Escape") { e.stopPropagation(); close(); } });
      doc.body.append(pane);
    }
    back = doc.activeElement;
    asked = heading;
    title.replaceChildren(...asked);
    pane.hidden = false;
    doc.documentElement.classList.add("with-uses");
    body.scrollTop = 0;
  }
  function close() {
    if (!pane || pane.hidden) return false;
    pane.hidden = true;
    doc.documentElement.classList.remove("with-uses");
    if (/^#u\d+$/.test(location.hash)) location.replace(location.hash.replace("u", "L"));
    back?.focus({ preventScroll: true });
    return true;
  }
  function choose(views, number) {
    tabs.replaceChildren(...views.map(([name, show], n) => {
      const button = make("button", { type: "button", "aria-pressed": String(n === number) }, name);
      button.addEventListener("click", () => { choose(views, n); });
      return button;
    }));
    title.replaceChildren(...asked);
    body.replaceChildren(make("p", { class: "w" }, "…"));
    body.scrollTop = 0;
    Promise.resolve(views[number][1]()).then((parts) => body.replaceChildren(...parts.filter(Boolean)));
  }
  const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

  /* Returns the definition in this page's file at a line. */
  async function show(qualified, kind, path, line) {
    const name = lastOf(qualified);
    open(["Uses of ", make("code", {}, qualified)]);
    tabs.replaceChildren();
    body.replaceChildren(make("p", { class: "w" }, "…"));
    let entry;
    try { entry = await entryOf(name); } catch { body.replaceChildren(make("p", { class: "warning" }, "the uses could not be loaded")); return; }
    const rows = entry?.definitions.filter((row) => row.qualified === qualified) || [];
    const row = rows.find((one) => one.file.path === path && one.line === line) || rows[0];
    const views = [["Uses", () => usesOf(entry, row, kind, name, qualified)]];
    if (row && (row.callers.length || row.callees.length)) views.push(["Calls", () => calls(row)]);
    if (row && (row.bases.length || row.derived.list.length)) views.push(["Classes", () => classes(row)]);
    if (row && (row.below.list.length || row.above.list.length)) views.push(["Overrides", () => overrides(row)]);
    choose(views, 0);
    body.focus({ preventScroll: true });
  }

  /* --- uses, by file --- */

  /* Like view/words/uses.py::certainty_in_words; the words are in the table. */
  function certaintyInWords(lines, sure, meant) {
    if (sure == null || !lines) return "";
    const sentence = sure && sure < lines ? [sure, lines - sure].reduce((text, n) => text.replace("{}", n.toLocaleString("en")), table.apart.both)
      : table.apart[`${sure ? "sure" : "may"} ${lines === 1 ? "one" : "all"}`];
    return sentence.replace("@", meant);
  }
  /* Like view/words/uses.py::overridden_in_words. */
  function overriddenBy(row) {
    if (!row?.overridden) return "";
    const sure = row.overridden - row.mayOverride, put = (text, n) => text.replace("{}", n.toLocaleString("en"));
    if (!sure) return put(table.overridden[row.overridden === 1 ? "only one" : "only many"], row.overridden);
    return put(sure === 1 ? table.overridden.one : table.overridden.many, sure) + (row.mayOverride ? put(table.overridden.may, row.mayOverride) : "");
  }
  function usesOf(entry, row, kind, name, qualified) {
    const same = row?.same || 1, meant = same > 1 ? table.apart.these.replace("{}", same.toLocaleString("en")) : table.apart.this;
    const fits = (use) => every || !row?.fitting || row.fitting.has(use.spelling);
    const sure = (use) => Boolean(row?.certain?.has(use.spelling));
    /* A line with two spellings of the name is one line. It counts as the first kind that fits, and is certain if one of them is. */
    const once = (uses) => {
      const lines = new Map();
      for (const use of uses.filter(fits)) {
        const known = lines.get(use.line);
        if (!known || (sure(use) && !known.sure)) lines.set(use.line, { ...use, sure: sure(use) });
      }
      return [...lines.values()];
    };
    const all = [...(entry?.files || []).map((file) => ({ ...file, on: true })), ...(entry?.outside || [])];
    let every = false, open = FIRST;
    const list = make("div");
    const summary = make("p", { class: "told" });
    const button = make("button", { type: "button", "aria-pressed": "false" });
    const sum = (files) => files.reduce((total, file) => total + file.uses.length, 0);
    function part(file) {
      const made = make("details", open > 0 ? { open: "" } : {}, make("summary", {}, make("span", { class: "p" }, file.path), ` ${file.uses.length}`, file.on ? null : make("small", { class: "w" }, " not on this site")),
        file.on ? make("ol", {}, ...file.uses.map((use) => make("li", {},
          make("a", { href: withLine(file, use.line) }, make("span", { class: "n" }, String(use.line)), " ", code(use.text, name)),
          " ", make("small", {}, [KINDS[use.kind], use.kind === "r" ? use.inside : use.inside && `in ${use.inside}`, use.resolved ? "resolved" : ""].filter(Boolean).join(" ")))))
          : make("ul", { class: "off" }, ...file.uses.map((use) => make("li", {}, make("code", {}, `${file.path}:${use.line}`)))));
      open -= file.uses.length;
      return made;
    }
    function draw() {
      const seen = every || !row?.own ? all : all.filter((file) => file.path === row.file.path);
      const files = seen.map((file) => ({ ...file, uses: once(file.uses) }));
      open = FIRST;
      const used = every || !row ? entry?.used || 0 : row.used;
      const apart = every ? "" : certaintyInWords(used, row?.sure, meant);
      title.replaceChildren(...(every ? ["Lines with the name ", make("code", {}, name)] : asked));
      summary.textContent = every ? `${count(used, "line")} with the name ${name}, with any meaning; ${(row?.used || 0).toLocaleString("en")} may mean ${qualified}`
        : [used ? `used on ${count(used, "line")}${apart ? `: ${apart}` : ""}` : row?.overridden ? "" : "no use of this name is indexed", overriddenBy(row)].filter(Boolean).join("; ");
      const section = (heading, wanted, total) => {
        const some = files.map((file) => ({ ...file, uses: file.uses.filter(wanted) })).filter((file) => file.uses.length);
        const listed = sum(some), lines = total > listed ? `${listed.toLocaleString("en")} of ${count(total, "line")} listed` : count(listed, "line");
        return some.length ? [heading ? make("h3", {}, `${heading}: ${lines}, in ${count(some.length, "file")}`) : null, ...some.map(part)] : [];
      };
      list.replaceChildren(...(apart ? [...section(`Can only mean ${meant}`, (use) => use.sure, row.sure), ...section("May mean something else with that name", (use) => !use.sure, used - row.sure)] : section("", () => true)).filter(Boolean));
      button.textContent = every ? `only uses of ${qualified}` : `all ${count(entry?.used || 0, "line")} with the name ${name}`;
      button.setAttribute("aria-pressed", String(every));
    }
    draw();
    button.addEventListener("click", () => { every = !every; draw(); });
    const words = [];
    const rest = row ? entry.used - row.used : 0, left = row ? rest - row.overridden - row.aside : 0;
    if (left) words.push(table.otherwise[`${row.sole ? "untold " : ""}${left === 1 ? "one" : "many"}`].replace("{}", left.toLocaleString("en")) + (row.sole ? "" : table.otherwise.why));
    if (!entry || entry.files.some((file) => file.uses.some((use) => !use.resolved))) words.push(table.matched.replace("{}", same > 1 ? table.several.replace("{}", same) : ""));
    const others = new Set((entry?.definitions || []).map((one) => one.qualified));
    others.delete(qualified);
    if (others.size) words.push(`${count(others.size, "other name")} on this site ${others.size === 1 ? "ends" : "end"} in ${name}`);
    if (row?.own) words.push("it is visible only in its own file");
    const unlisted = entry ? entry.more[0] + entry.outsideMore[0] : 0;
    if (unlisted) words.push(`${count(unlisted, "line")} with the name ${unlisted === 1 ? "is" : "are"} not listed, because there are too many: ptexplore refs ${qualified}`);
    const unread = kind === "v" ? table.values : "cte".includes(kind) ? table.types : ""; // a reader of the number must know
    return [make("p", { class: "line" }, summary, row?.fitting && rest ? button : null), unread ? make("p", { class: "w" }, unread.replace("{}", name)) : null, list, make("ul", { class: "w remarks" }, ...words.map((text) => make("li", {}, text)))];
  }
  /* Returns a line of source with the name marked. */
  function code(text, name) {
    const parts = make("code");
    const at = new RegExp(`(?<![\\w])${name.replace(/[^\w]/g, "\\$&")}(?![\\w])`, "g");
    let done = 0;
    for (const match of text.matchAll(at)) {
      parts.append(text.slice(done, match.index), make("mark", {}, match[0]));
      done = match.index + match[0].length;
    }
    parts.append(text.slice(done));
    return parts;
  }

  /* --- calls, two levels in each direction, as a drawing and in words --- */

  const NS = "http://www.w3.org/2000/svg";
  function shape(tag, attributes = {}, ...inside) {
    const made = doc.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) if (value != null) made.setAttribute(name, value);
    made.append(...inside);
    return made;
  }
  const WIDE = 200, HIGH = 36, LOW = 20, GAP = 6, BETWEEN = 40, LETTERS = 27;
  const NEAR = 6, FAR = 3; // boxes of the first level, and of the second beside each
  async function further(nodes, side) {
    return Promise.all(nodes.map(async (node) => {
      const row = node.sure && node.file && node.line ? await definitionAt(node.name, node.file, node.line).catch(() => null) : null;
      const list = row ? row[side] : [];
      const more = row ? row[side === "callers" ? "moreCallers" : "moreCallees"] + Math.max(0, list.length - FAR) : 0;
      return { ...node, next: list.slice(0, FAR), more, unnamed: side === "callers" && (more > 0 || row?.used > list.length) };
    }));
  }
  async function calls(row) {
    const [callers, callees] = await Promise.all([further(row.callers.slice(0, NEAR), "callers"), further(row.callees.slice(0, NEAR), "callees")]);
    const notes = [], left = (list, more) => Math.max(0, list.length - NEAR) + more;
    const others = left(row.callers, row.moreCallers), inside = left(row.callees, row.moreCallees);
    /* Calls through an object whose type is not read are not among the callers, so no number of further callers is shown. */
    const unnamed = others || row.used > callers.length ? `${others ? "and" : "perhaps"} others: "Uses" lists every line` : "";
    if (others) notes.push('more functions call it than are drawn: "Uses" lists every line');
    else if (unnamed) notes.push('functions that are not drawn may call it: "Uses" lists every line');
    if (inside) notes.push(`${inside.toLocaleString("en")} more of its calls ${inside === 1 ? "is" : "are"} not drawn`);
    const end = (text) => (text ? [make("li", { class: "w" }, text)] : []);
    const beyond = (node) => (node.unnamed ? (node.next.length ? "and others: see its own uses" : "see its own uses for its callers") : node.more ? `and ${node.more.toLocaleString("en")} more` : "");
    const words = (nodes, side, rest) => make("ul", {}, ...nodes.map((node) => make("li", {}, named(node, side),
      node.next.length || beyond(node) ? make("ul", {}, ...node.next.map((next) => make("li", {}, named(next, side))), ...end(beyond(node))) : null)), ...end(rest));
    requestAnimationFrame(() => { // puts the definition asked about in the middle
      const drawn = body.querySelector(".drawn"), own = body.querySelector("rect.own");
      if (drawn?.scrollWidth > 1.5 * drawn?.clientWidth) body.querySelector(".in-words").open = true; // a phone shows only the middle
      if (drawn) drawn.scrollTo(own.x.baseVal.value - (drawn.clientWidth - WIDE) / 2, own.y.baseVal.value - (drawn.clientHeight - HIGH) / 2);
    });
    return [
      make("figure", { class: "calls" }, make("div", { class: "drawn", tabindex: "0", role: "region", "aria-label": "Calls" }, drawing(row, callers, callees)),
        make("figcaption", { class: "w" }, ["left: its callers; right: its calls. Dashed: several candidates, or matched only by name", ...notes].join("; "))),
      make("details", { class: "in-words" }, make("summary", {}, "as text"), make("h3", {}, "Called by"), words(callers, "callers", unnamed), make("h3", {}, "Calls"), words(callees, "callees", inside ? `and ${inside.toLocaleString("en")} more` : "")),
      make("ul", { class: "w remarks" }, make("li", {}, table.matched.replace("{}", ""))),
    ];
  }
  function where(node, side) {
    const line = side === "callers" ? node.call : node.line;
    return node.file ? `${node.file.name}:${line}` : node.choices > 1 ? `${node.choices} definitions` : "";
  }
  const href = (node, side) => withLine(node.file, side === "callers" ? node.call : node.line);
  function named(node, side) {
    const name = node.name || "outside functions";
    const link = href(node, side);
    return make("span", {}, link ? make("a", { href: link }, name) : make("span", {}, name), " ",
      make("small", { class: "w" }, [where(node, side), node.sure ? "" : "not certain"].filter(Boolean).join(" · ")));
  }
  function drawing(row, callers, callees) {
    const made = [], lines = [];
    const high = (node) => Math.max(HIGH, node.next.length * (LOW + GAP) - GAP) + GAP;
    const total = Math.max(...[callers, callees].map((side) => side.reduce((sum, node) => sum + high(node), 0)), HIGH + GAP);
    const any = (side) => (side.some((node) => node.next.length) ? 2 : side.length ? 1 : 0);
    const left = any(callers), right = any(callees), step = WIDE + BETWEEN;
    const centre = left * step, middle = total / 2;
    const curve = (x, y, to, at, sure) => lines.push(shape("path", { d: `M${x} ${y}C${(x + to) / 2} ${y} ${(x + to) / 2} ${at} ${to} ${at}`, class: sure ? null : "q" }));
    const side = (nodes, by, name) => {
      let y = (total - nodes.reduce((sum, node) => sum + high(node), 0)) / 2;
      for (const node of nodes) {
        const at = y + high(node) / 2, x = centre + by * step;
        if (by > 0) curve(centre + WIDE, middle, x, at, node.sure); else curve(x + WIDE, at, centre, middle, node.sure);
        made.push(box(node, x, at, name));
        let inner = y + (high(node) - node.next.length * (LOW + GAP)) / 2;
        for (const next of node.next) {
          const there = inner + (LOW + GAP) / 2, far = x + by * step;
          if (by > 0) curve(x + WIDE, at, far, there, next.sure); else curve(far + WIDE, there, x, at, next.sure);
          made.push(box(next, far, there, name, LOW));
          inner += LOW + GAP;
        }
        y += high(node);
      }
    };
    side(callers, -1, "callers");
    side(callees, 1, "callees");
    made.push(box({ name: row.qualified, file: row.file, line: row.line, sure: true, own: true }, centre, middle, "callees"));
    const width = (left + right) * step + WIDE + 2;
    return shape("svg", { width, height: total + 2, viewBox: `-1 -1 ${width} ${total + 2}`, role: "group", "aria-label": `Calls around ${row.qualified}` }, ...lines, ...made);
  }
  function box(node, x, y, side, high = HIGH) {
    const parts = (node.name || "outside functions").split("::");
    let text = parts.pop();
    while (parts.length && text.length + parts.at(-1).length + 2 <= LETTERS) text = `${parts.pop()}::${text}`;
    if (text.length > LETTERS) text = `${text.slice(0, LETTERS - 1)}…`;
    const at = where(node, node.own ? "callees" : side);
    const drawn = [shape("title", {}, [node.name || node.file?.path, at].filter(Boolean).join(", ")),
      shape("rect", { x, y: y - high / 2, width: WIDE, height: high, rx: 5, class: node.own ? "own" : node.sure ? null : "q" }),
      shape("text", { x: x + WIDE / 2, y: high < HIGH ? y + 4 : y - 3, "text-anchor": "middle" }, text)];
    if (high === HIGH) drawn.push(shape("text", { x: x + WIDE / 2, y: y + 12, "text-anchor": "middle", class: "at" }, at.length > LETTERS + 3 ? `…${at.slice(-LETTERS - 2)}` : at));
    const link = href(node, node.own ? "callees" : side);
    return link ? shape("a", { href: link }, ...drawn) : shape("g", {}, ...drawn);
  }

  /* --- classes and overrides --- */

  async function classes(row) {
    const up = async (node, level) => {
      const next = node.sure && node.file && level ? await definitionAt(node.name, node.file, node.line).catch(() => null) : null;
      return make("li", {}, named(node, "callees"), next?.bases.length ? make("ul", {}, ...await Promise.all(next.bases.map((base) => up(base, level - 1)))) : null);
    };
    const down = async (node, level) => {
      const next = node.sure && level ? await definitionAt(node.name, node.file, node.line).catch(() => null) : null;
      return make("li", {}, named(node, "derived"), next ? await below(next, level - 1) : null);
    };
    const below = async (at, level) => (at.derived.list.length ? make("ul", {}, ...await Promise.all(at.derived.list.map((each) => down(each, level))), more(at.derived)) : null);
    const parts = [];
    if (row.bases.length) parts.push(make("h3", {}, "Inherits from"), make("ul", {}, ...await Promise.all(row.bases.map((base) => up(base, 2)))));
    if (row.derived.list.length) parts.push(make("h3", {}, "Inherited by"), await below(row, 1));
    return [...parts, make("ul", { class: "w remarks" }, make("li", {}, "matched by the written names; a class that is not certain is marked, and its own bases and derived classes are not shown"))];
  }
  const more = (some) => (some.more ? make("li", { class: "w" }, `and ${some.more} more`) : null);
  function overrides(row) {
    const list = (heading, some) => (some.list.length ? [make("h3", {}, heading), make("ul", {}, ...some.list.map((each) => make("li", {}, named({ ...each, call: each.line }, "callers"))), more(some))] : []);
    return [...list("Overrides", row.above), ...list("Overridden by", row.below), make("ul", { class: "w remarks" },
      make("li", {}, "matched by name: functions declared override in a class that inherits from this one; parameters are not compared"))];
  }

  /* --- a name in the source without a link: the things with that name in this file, and a search --- */

  const OWN_WORDS = new Set("auto bool char double float int long short signed unsigned void".split(" "));
  const MANY = 10;
  function wordAt(x, y) {
    const caret = doc.caretPositionFromPoint?.(x, y), range = caret ? doc.createRange() : doc.caretRangeFromPoint?.(x, y);
    const text = caret ? caret.offsetNode : range?.startContainer, offset = caret ? caret.offset : range?.startOffset;
    if (text?.nodeType !== Node.TEXT_NODE) return null;
    for (const { 0: word, index } of text.data.matchAll(/[A-Za-z_]\w*/g)) {
      if (offset < index || offset > index + word.length) continue;
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const box = [...range.getClientRects()].find((one) => one.left <= x && x <= one.right && one.top <= y && y <= one.bottom);
      if (box) return { word, box, range };
    }
    return null;
  }
  const ABOVE = 60; // lines in which the object of a member is searched
  const NO_TYPES = /^\s*(?:return|else|delete|new|throw|case|goto|using)\b/;
  /* Returns the line above that seems to declare the object of a member, or else the name itself (`T op;`); null if there is none. Only the text decides. */
  function objectOf(range, word) {
    const li = range.startContainer.parentElement.closest("#code ol.c > li"), before = doc.createRange();
    before.setStart(li, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const object = /([A-Za-z_]\w*)(?:\.|->)$/.exec(before.toString())?.[1] ?? word;
    if (!object) return null;
    const declares = new RegExp(`^\\s*(?:const\\s+)?[A-Za-z_][\\w:]*(?:<.*>)?[\\s&*]+${object}\\s*[;={(]`);
    const all = [...doc.querySelectorAll("#code ol.c > li")], own = all.indexOf(li);
    for (let n = own - 1; n >= Math.max(0, own - ABOVE); n--) {
      const text = all[n].textContent;
      if (declares.test(text) && !NO_TYPES.test(text)) return { object, line: n + 1, text: text.trim() };
    }
    return null;
  }
  /* Returns the card for the name at a point, and the name's position; null if there is no name. `defined` draws a definition. */
  ptx.nameAt = (x, y, rows, defined) => {
    const { word, box, range } = wordAt(x, y) || {};
    if (!word || OWN_WORDS.has(word)) return null;
    const called = rows.filter((row) => row[1].split(/::|\./).pop() === word && !row[1].endsWith(`${word}::${word}`)); // the class, not its constructors
    const whole = new Set(called.filter((row) => row[5]).map((row) => row[1]));
    const own = called.filter((row) => row[5] || !whole.has(row[1])); // no declaration of a name that is defined here
    const words = own.length > 1 ? `${own.length} things in this file have this name: it is not known which one is meant here`
      : own.length ? "the only thing in this file with this name; matched only by name" : `nothing in this file is known as ${word}`;
    const search = make("button", { type: "button" }, `search for ${word}`);
    search.addEventListener("click", () => ptx.ask?.(word));
    const of = objectOf(range, own.length ? null : word);
    return { box, inside: [make("p", { class: "many" }, words),
      of && make("p", {}, `${of.object} seems to be declared on `, make("a", { href: `#L${of.line}` }, `line ${of.line}`), ": ", make("code", {}, of.text)), ...own.slice(0, MANY).map((row) => defined({ href: `#L${row[0]}`, label: `line ${row[0]}` }, row)),
      own.length > MANY ? make("p", { class: "many" }, `and ${own.length - MANY} more`) : null, make("p", {}, search)].filter((one) => one) };
  };

  ptx.showUses = show;
  ptx.closeUses = close;
})();
