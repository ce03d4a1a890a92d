/* Orders the results of a search in a browser, as lookup/ranking.py does on the command line, with the facts in the
   rows of the search. tests/unit/lookup/test_ranking.py checks that the two agree. */
(function () {
  "use strict";
  const [PUBLIC, WHOLE, CASE, TITLE, ANSWERED, SAID, HALF_SAID, WHOLE_MINOR, CASE_MINOR, LATE_TITLE, BEGINS, NEAR, WORDS, INSIDE,
    LATE_SAID, SLIPPED, LATE_HALF] = Array(17).keys();
  /* The order of the sorts of things, by a row's letter: for a name, and for small letters, which may be words. Capitals: a method, an enumerator. */
  const RANKS = { g: [4, 0], n: [4, 1], k: [4, 1], d: [5, 2], o: [2, 3], c: [1, 4], e: [1, 4], f: [3, 5], m: [3, 5], t: [4, 6], p: [6, 7],
    h: [7, 7], x: [7, 8], F: [8, 8], E: [8, 9], v: [9, 9] };
  const NEARLY_WHOLE = 8, SHORTEST_SLIP = 5, HUMPS = 24, OF_TITLE = 5;
  const CALL = /^(?:torch|tensor|[a-z]|nn|functional|aten)(?:\.\w+)*\.(\w+)$/i;
  const QUESTION = /^[a-z0-9 ',?-]+$/;
  const DOTTED = /^[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)+$/u;
  const LINE = /(?<=\w):([1-9]\d{0,6})(?:-\d+)?$/; // a line of a file: "Dispatcher.h:120"
  const FILE = /\w\.(?:cpp|h|hpp|cu|cuh|cc|c|py|pyi|yaml|md|mm|metal|inl|in|txt|cmake)$/;
  const START = /(?<![A-Za-z0-9\u0080-\uffff])[A-Za-z0-9\u0080-\uffff]|(?<=[a-z0-9])[A-Z]|(?<=[A-Z])[A-Z](?=[a-z])/g;
  const ENDINGS = [["ies", "y", 3], ["ied", "y", 3], ["ing", "", 4], ["ed", "", 4], ["es", "", 4], ["s", "", 3], ["e", "", 3]];
  const SAME = { begin: "start" };

  const lowered = (text) => text.replace(/[A-Z]+/g, (some) => some.toLowerCase());
  const starts = (name) => Array.from(name.matchAll(START), (one) => one.index);
  const bare = (text) => text.replace(/^_+/, "");
  const parts = (text) => text.split(/\s+|::|\//).filter(Boolean);
  const plainWords = (text) => text.toLowerCase().match(/[a-z0-9_\u0080-\uffff]+/g) || [];
  function stem(word) {
    const cut = ENDINGS.find(([ending, , least]) => word.length - ending.length >= least && word.endsWith(ending)
      && !(ending === "s" && word.endsWith("ss")));
    const kept = cut ? word.slice(0, -cut[0].length) + cut[1] : word;
    return Object.hasOwn(SAME, kept) ? SAME[kept] : kept;
  }
  /* The words of lookup/query_words.py::QUERY_WORDS; search/table.js has them. */
  let stops = new Set(), backends = new Set(), ofKernels = new Set(), forKernels = new Set(), forms = [];
  let asking = new Set(), modals = new Set(), devices = new Set(), special = new Set(), explaining = new Set(), roots = new Set(), implied = new Map(), synonyms = [];
  function readBy(words) {
    [stops, backends, ofKernels, forKernels, asking, modals, devices, special, explaining, roots] = [words.stops, words.backends, words.of_kernels, words.for_kernels,
      words.asking, words.modals, words.devices, words.special, words.explaining, words.roots].map((some) => new Set(some.split(" ")));
    forms = words.kernel_names.split(" ");
    const rows = (some) => some.split(";").map((row) => row.split("=").map((side) => side.split(" ")));
    implied = new Map(rows(words.implied).map(([[word], others]) => [word, others]));
    synonyms = rows(words.synonyms).map(([said, meant]) => [said.map(stem), meant]);
  }
  const stems = (text) => plainWords(text).filter((word) => !stops.has(word)).map(stem);

  /* Reads the typed text as a name with its scope, or as words. The special words come from `readBy`. */
  function read(typed) {
    const whole = typed.split(/\s+/).filter(Boolean).join(" "), placed = LINE.exec(whole), atLine = placed && FILE.test(whole.slice(0, placed.index)) ? placed : null;
    const text = atLine ? whole.slice(0, atLine.index) : whole, name = text.replace(/(?<!operator)\(.*$|\?+$/g, "").trim() || text;
    const dotted = DOTTED.test(name) && !FILE.test(name), said = plainWords(text), several = text.includes(" ");
    const kept = said.length > 1 && !text.includes("::") ? said.filter((word) => !stops.has(word)) : [], dropped = kept.length ? said.filter((word) => stops.has(word)) : [];
    const question = several && dropped.length > 0 && !text.includes("::");
    const pieces = question ? kept : dotted ? name.split(".") : parts(name), joined = several && pieces.length > 1;
    const call = dotted ? CALL.exec(name) : null;
    const last = pieces.at(-1) ?? "";
    const [operator, backend, kernel] = joined ? onBackend(pieces.map(lowered)) : ["", "", false];
    return { operator, backend, kernel, text, low: lowered(text), term: termOf(last), name, outer: pieces.slice(0, -1).map(lowered), last, joined: joined ? lowered(pieces.join("")).replaceAll("_", "") : "",
      line: atLine ? Number(atLine[1]) : 0, qualified: name.includes("::") && pieces.length > 1 && !joined, words: (kept.length ? kept : said).map(stem), dropped, question, dotted, path: text.includes("/"), call: call ? call[1] : "",
      plain: question || QUESTION.test(text) || (several && QUESTION.test(text.toLowerCase())) };
  }

  const BEHIND_KERNELS = 20;
  /* Returns the operator and the backend that the words name, and whether they ask for its kernel. "sparse tensor" names neither. */
  function onBackend(pieces) {
    const rest = pieces.filter((piece) => !forKernels.has(piece)), meant = rest.filter((piece) => backends.has(piece)), kernel = rest.length < pieces.length;
    if (rest.length !== 2 || meant.length !== 1 || !(kernel || rest[1] === meant[0])) return ["", "", false];
    return [rest.find((piece) => piece !== meant[0]), meant[0], kernel];
  }

  /* --- names --- */

  function humps(wanted, words, at) {
    if (!wanted) return true;
    for (let i = at; i < words.length; i++) {
      if (i && at === 0) return false; // the first piece must begin the name
      for (let n = 1; n <= Math.min(wanted.length, words[i].length); n++) {
        if (wanted[n - 1] !== words[i][n - 1]) break;
        if (humps(wanted.slice(n), words, i + 1)) return true;
      }
    }
    return false;
  }
  const termOf = (text) => {
    const wanted = lowered(text), plain = bare(wanted);
    return { text, wanted, plain, led: wanted !== plain, capitals: text === text.toUpperCase() && text !== text.toLowerCase() };
  };
  /* Returns where the words of a row's name begin. They are computed once. */
  const startsOf = (row) => (row.starts ??= starts(row.name));
  function termFit({ text, wanted, plain, led, capitals }, row) {
    const { name, low } = row;
    if (name === text) return [WHOLE, 0];
    const lead = led || low[0] !== "_" ? 0 : low.length - bare(low).length;
    if (low === wanted || (plain && low.endsWith(plain) && bare(low) === plain)) return [CASE, 0];
    if (!wanted) return null;
    if (low.startsWith(wanted, lead)) return [BEGINS, startsOf(row).filter((at) => at >= lead + wanted.length).length];
    const held = low.includes(wanted);
    if (!held && (low[lead] !== plain[0] || plain.length < 2 || plain.length > HUMPS)) return null;
    const begins = startsOf(row), at = held ? begins.find((one) => low.startsWith(wanted, one)) : undefined;
    if (at !== undefined) return [WORDS, begins.filter((one) => one < at || one >= at + wanted.length).length];
    if (plain.length > 2 || capitals) {
      const words = begins.map((from, i) => low.slice(from, begins[i + 1] ?? low.length));
      if (humps(plain.replaceAll("_", ""), words, 0)) return [WORDS, words.length];
    }
    return held && wanted.length > 2 ? [INSIDE, begins.length] : null;
  }
  const nameFit = (term, name) => termFit(termOf(term), { name, low: lowered(name) });
  function slips(word, other, most) {
    if (Math.abs(word.length - other.length) > most) return most + 1;
    let older = [], before = [], row = Array.from({ length: other.length + 1 }, (_, i) => i);
    for (let i = 1; i <= word.length; i++) {
      [older, before, row] = [before, row, [i]];
      for (let j = 1; j <= other.length; j++) {
        let cost = Math.min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (word[i - 1] !== other[j - 1] ? 1 : 0));
        if (i > 1 && j > 1 && word[i - 1] === other[j - 2] && word[i - 2] === other[j - 1]) cost = Math.min(cost, older[j - 2] + 1);
        row.push(cost);
      }
      if (Math.min(...row) > most) return most + 1;
    }
    return row.at(-1);
  }
  function slipFit(term, name, low = lowered(name)) {
    if (term.length < SHORTEST_SLIP) return null;
    const most = term.length < NEARLY_WHOLE - 1 ? 1 : 2;
    if (Math.abs(term.length - name.length) > most) return null;
    const wanted = lowered(term), count = slips(wanted, low, most);
    if (count < 1 || count > most) return null;
    const whole = wanted.length >= NEARLY_WHOLE || (wanted === term && !term.includes("_")); // in a short name, capitals and underscores begin words
    return [count === 1 && whole ? NEAR : SLIPPED, count];
  }

  /* --- what a row is: name, letter, context, minor, area, uses, python, low, path --- */

  const rankKind = (row) => (row.method ? row.kind.toUpperCase() : row.kind);
  function order(row) {
    if (row.kind !== "o") return row.order ?? 0;
    const overload = row.name.includes(".") ? row.name.slice(row.name.indexOf(".") + 1) : "";
    return overload.includes("out") ? 2 : overload === "" || overload === "Tensor" ? 0 : 1;
  }
  const base = (row) => row.name.split(".", 1)[0];
  const family = (row) => (row.kind === "d" ? `d ${row.path ?? row.name}` : `${rankKind(row)} ${row.context} ${row.kind === "o" ? base(row) : row.name}`);

  /* Answers of one name in several scopes are one family: others are more likely meant than the second. */
  const answerFamily = (row) => lowered(row.kind === "o" ? base(row) : row.name).replaceAll("_", "");

  function operatorFit(asked, row) {
    const own = base(row);
    if (asked.text === row.name || asked.text === `${row.context}::${row.name}`) return [WHOLE, row.name.includes(".") ? -1 : 0];
    if (asked.call && lowered(own) === lowered(asked.call)) return [own === asked.call ? WHOLE : CASE, 0];
    if (asked.dotted) return row.low.startsWith(asked.low) ? [BEGINS, 0] : null;
    row.base ??= { name: own, low: lowered(own) };
    return termFit(asked.term, row.base) ?? (asked.last.includes(".") ? termFit(asked.term, row) : null);
  }
  const wide = (row) => (row.wide ??= `${lowered(row.context)} ${row.low}`);
  function entryFit(asked, row) {
    let fit = row.kind === "o" ? operatorFit(asked, row) : termFit(asked.term, row);
    if (fit && asked.outer.length && !(row.kind === "o" && asked.call)) {
      const low = asked.question ? row.low : wide(row);
      if (!asked.outer.every((word) => low.includes(word))) {
        fit = asked.call && (fit[0] === WHOLE || fit[0] === CASE) && row.kind !== "p" ? [CASE_MINOR, 0] : null; // x.view may be any view
      } else if (asked.joined && (fit[0] === WORDS || fit[0] === INSIDE || fit[0] === BEGINS)) {
        const begins = startsOf(row).map((at) => row.low.slice(at));
        fit = [fit[0], Math.max(0, fit[1] - asked.outer.filter((word) => begins.some((part) => part.startsWith(word))).length)];
      }
    }
    if (asked.joined) {
      const plain = (row.plain ??= row.low.replaceAll("_", ""));
      if (plain === asked.joined) return [CASE, 0];
      if (plain.startsWith(asked.joined)) return [BEGINS, Math.max(0, startsOf(row).length - asked.outer.length - 1)];
    }
    if (!fit && row.kind === "p" && (row.whole ??= lowered(`${row.context}/${row.name}`)).includes(asked.low)) return [INSIDE, 50];
    return fit;
  }
  function slipped(asked, row) {
    if (!asked.outer.every((word) => wide(row).includes(word))) return null;
    return row.kind === "o" ? slipFit(asked.last, base(row)) : slipFit(asked.last, row.name, row.low);
  }
  function outerRank(asked, row) {
    if (!asked.outer.length || (row.kind === "o" && asked.call)) return 0;
    const given = parts(lowered(row.context).replaceAll(".", "/")).slice(-asked.outer.length);
    return given.length === asked.outer.length && given.every((part, i) => part === asked.outer[i]) ? 0 : 1;
  }
  const keyOf = (asked, row, grade, extra, minor, outer) => [grade, minor ? 1 : 0, 0, outer, extra,
    asked.path && (row.kind === "d" || row.kind === "p") ? -1 : RANKS[row.kind === "d" && row.area ? "p" : rankKind(row)][asked.plain ? 1 : 0],
    row.area ?? 0, -(row.uses ?? 0), order(row), row.name.length, row.context.length, row.name, row.context];
  /* Returns the grade of a fit. A whole name gets a lower grade if it is hardly meant; other fits keep theirs. */
  function gradeOf(asked, row, [grade], minor, outer) {
    if (grade !== WHOLE && grade !== CASE) return grade;
    if (asked.joined && outer && row.low.replaceAll("_", "") !== asked.joined) return WORDS; // "memory format" is hardly a format in memory_viz
    if (asked.qualified && !outer && row.area < 2) return grade; // a reader who writes the class means its member
    const capitals = asked.last !== lowered(asked.last);
    if (minor || (asked.question && asked.words.length > 1)) {
      return grade === CASE ? CASE_MINOR : capitals && row.area < 2 && !asked.dotted ? CASE : WHOLE_MINOR;
    }
    if (grade === CASE && !asked.joined) {
      if (capitals) return TITLE; // no note has this grade for a name with capitals
      if (asked.plain && "ce".includes(row.kind) && !row.method && !row.area) return WHOLE; // "tensor" is Tensor
    }
    return grade;
  }
  /* "add cpu" asks for an operator on a backend: the card of the operator answers that. */
  const askedOperator = (asked) => asked.operator;
  const wordsOf = (name) => {
    const begins = starts(name);
    return begins.map((from, i) => lowered(name.slice(from, begins[i + 1] ?? name.length)).replace(/^[_.]+|[_.]+$/g, ""));
  };
  const wordsOfPath = (path) => path.split("/").flatMap(wordsOf);
  /* Whether the words of a folder name backends, but not the backend that is asked for. */
  const ofAnotherBackend = (asked, path) => {
    const named = wordsOfPath(path).filter((word) => backends.has(word));
    return named.length > 0 && !named.includes(asked.backend);
  };
  /* Returns how many words a kernel's name has beside the operator's, if it is a kernel for the backend; else 0. */
  function kernelOnABackend(asked, row) {
    const operator = askedOperator(asked);
    if (!operator || !"cef".includes(row.kind) || row.method || row.minor || row.context.split("::").at(-1) !== "native" || !row.name.includes(operator)) return 0;
    const backend = asked.backend, words = wordsOf(row.name), own = wordsOf(operator);
    const at = words.findIndex((_word, i) => own.every((word, n) => words[i + n] === word));
    const further = at < 0 ? [] : [...words.slice(0, at), ...words.slice(at + own.length)];
    if (!further.length || !further.every((word) => ofKernels.has(word) || word === backend)) return 0;
    const named = [...further, ...wordsOfPath(row.path || "")].filter((word) => backends.has(word));
    return named.length && named.every((word) => word === backend) ? further.length + (further.includes("kernel") ? 0 : 1) : 0;
  }
  /* nn.Conv2d is torch.nn.Conv2d, F.relu is torch.nn.functional.relu. */
  const spelled = (name) => name.replace(/^F\./, "torch.nn.functional.").replace(/^nn\./, "torch.nn.");
  function entryKey(asked, row, slipsToo) {
    if (asked.dotted && row.python && [spelled(asked.name), `torch.${asked.name}`].includes(`${row.context}.${row.name}`)) {
      return keyOf(asked, row, PUBLIC, 0, false, 0);
    }
    if (row.kind === "o" && row.context === "aten" && order(row) < 2 && askedOperator(asked) === lowered(base(row))) return keyOf(asked, row, PUBLIC, asked.kernel ? BEHIND_KERNELS : 0, false, 0);
    const further = kernelOnABackend(asked, row);
    if (further) return keyOf(asked, row, PUBLIC, further, false, 0);
    const fit = entryFit(asked, row) ?? (slipsToo ? slipped(asked, row) : null);
    if (!fit) return null;
    const minor = row.minor || (asked.dotted && !row.python && !"opd".includes(row.kind)), outer = outerRank(asked, row);
    return keyOf(asked, row, gradeOf(asked, row, fit, minor, outer), fit[1], minor, outer);
  }

  /* --- notes: tours, stops, concepts, folders; a topic has names, title, titled, about, words (lists of stems) --- */

  function score(word, topic) {
    if (topic.titled.includes(word)) return OF_TITLE;
    const long = word.length > 2;
    if (long && topic.titled.some((other) => other.startsWith(word))) return OF_TITLE - 1;
    if (topic.about.includes(word)) return 3;
    if (topic.held.has(word)) return 2;
    return long && (topic.about.some((other) => other.startsWith(word)) || topic.words.some((other) => other.startsWith(word))) ? 1 : 0;
  }
  const same = (some, others) => some.length === others.length && some.every((one, i) => one === others[i]);
  function topicFit(asked, topic, weights) {
    if (topic.names.includes(asked.text)) return [WHOLE, 0];
    if (topic.kind === "d" && asked.operator && ofAnotherBackend(asked, topic.names[0])) return null;
    topic.said ??= [...topic.names, topic.title].map((text) => stems(text));
    if (asked.words.length && topic.said.some((some) => same(some, asked.words))) return [CASE, 0];
    if ((!asked.plain && asked.words.length > 1) || asked.words.some((word) => word.length < 2)) return null;
    const scores = asked.words.map((word) => score(word, topic)), total = scores.reduce((sum, one, i) => sum + one * weights[i], 0);
    if (!total) return null;
    if (scores.every((one) => one >= OF_TITLE)) return [TITLE, -total];
    if (scores.every((one) => one)) return [SAID, -total];
    return scores.length > 1 ? [HALF_SAID, -total] : null;
  }
  const bits = (number) => 32 - Math.clz32(number);
  const weightsOf = (asked, topics) => asked.words.map((word) => {
    const count = topics.filter((topic) => topic.held.has(word) || topic.titled.includes(word) || topic.about.includes(word)).length;
    return Math.max(1, bits(Math.floor(topics.length / Math.max(1, count))));
  });
  const LATE = { [TITLE]: LATE_TITLE, [SAID]: LATE_SAID, [HALF_SAID]: LATE_HALF };
  function topicKey(asked, fit, topic) {
    let grade = fit[0];
    if (!asked.plain) grade = LATE[grade] ?? grade;
    else if (!asked.question && (asked.words.length === 1 ? grade === SAID || grade === HALF_SAID : grade === HALF_SAID)) grade = LATE[grade];
    const row = { kind: topic.kind, name: topic.names[0], context: "", order: topic.number };
    return keyOf(asked, row, grade, fit[1], false, 0);
  }

  /* --- answers to several words: as in lookup/answers.py --- */

  const OWN = [6, 4], NEAR_BY = [4, 3], FAR = [2, 1], BACKEND = 4, ON_CARD = 3, LOST = 3, LOST_BACKEND = 1, OF_DEVICE = 3, HEAVIEST = 5, PART = 3;
  const EXTRA = 3, MOST_EXTRA = 6, MINOR = 8, UNASKED = 14, AREAS = [0, 2, 10, 18], HEADER = 2, NOT_KERNEL = 6, EXACT = 40, WITH_MODAL = 12, EXPLAINS = 1;
  const IN_LANGUAGE = /\s+(?:in|from)\s+(c\+\+|cpp|python)\s*\?*$/i; // the end of a question
  const languageOf = (path) => (!path ? "" : /\.pyi?$/.test(path) ? "python" : /\.ya?ml$/.test(path) ? "yaml" : "cpp");
  const MOST_USES = { o: 2, p: 0 }, USUAL_USES = 8, PRICES = { v: 10, E: 12, F: 1, t: 3 }, SHORTEST_RESPELLED = 5;
  const together = (words) => {
    const all = [...words, ...words.slice(1).map((word, i) => words[i] + word)];
    return { equal: new Set([...all, ...words.map(stem)]), lines: `\n${all.join("\n")}` };
  };
  const remembered = (of) => {
    const known = new Map();
    return (text) => {
      if (!known.has(text)) known.set(text, of(text));
      return known.get(text);
    };
  };
  const ofName = remembered((name) => together(wordsOf(name).filter(Boolean)));
  const ofPath = remembered((path) => {
    const words = wordsOfPath(path).filter(Boolean);
    return together([...words, ...words.flatMap((word) => implied.get(word) ?? [])]);
  });
  const ofStems = (words) => ({ equal: new Set(words), lines: `\n${words.join("\n")}` });
  const match = ({ equal, lines }, { word, short }) => (equal.has(word) || equal.has(short) ? 2 : short.length >= 3 && lines.includes(`\n${short}`) ? 1 : 0);
  function best(term, fields) {
    let score = 0;
    for (const [words, [equal, begins]] of fields) {
      if (score >= equal) continue;
      for (const form of term.forms) {
        const fits = match(words, form);
        if (fits) score = Math.max(score, (fits === 2 ? equal : begins) - form.less);
      }
    }
    return score;
  }
  const intersects = (some, others) => [...some].some((one) => others.has(one));
  /* Returns the words of a query of several words, each with its spellings, other words for the same, and its weight. */
  function answering(asked, topics) {
    const typed = asked.text.includes("::") || asked.path || !(asked.joined || asked.question) ? [] : asked.text.replace(IN_LANGUAGE, "").replace(/(?<![A-Za-z0-9_])c\+\+/gi, "cpp").match(/[A-Za-z0-9_\u0080-\uffff]+/g) ?? [];
    const telling = typed.filter((word) => !stops.has(lowered(word)) && !asking.has(lowered(word)));
    const all = [...new Set((telling.length ? telling : typed).flatMap(wordsOf).filter(Boolean))];
    const said = all.some((word) => word.length > 1) ? all : [], cut = said.map(stem), meant = said.map(() => new Set());
    for (const [phrase, words] of synonyms) {
      for (let at = 0; at + phrase.length <= cut.length; at++) {
        if (phrase.every((word, i) => cut[at + i] === word)) phrase.forEach((_word, i) => words.forEach((word) => meant[at + i].add(word)));
      }
    }
    const terms = said.map((word, at) => {
      const others = [...meant[at]], isBackend = [word, ...others].some((one) => devices.has(one)), short = stem(word);
      const count = topics.filter((topic) => [short, word].some((one) => topic.held.has(one) || topic.titled.includes(one) || topic.about.includes(one))).length;
      const weight = isBackend ? OF_DEVICE : Math.max(1, Math.min(HEAVIEST, bits(Math.floor(topics.length / Math.max(1, count)))));
      const spellings = [word, ...(at ? [said[at - 1] + word] : []), ...(at + 1 < said.length ? [word + said[at + 1]] : [])];
      const form = (one, less) => ({ word: one, short: stem(one), less });
      const forms = [...spellings.map((one) => form(one, 0)), ...others.map((one) => form(one.replaceAll("_", ""), 1))];
      return { word, spellings, others, weight, forms, isBackend, isKernel: short === "kernel" };
    });
    const every = terms.flatMap((term) => [...term.spellings, ...term.others]).flatMap((word) => word.split("_"));
    const names = said.length ? typed.filter((word) => word.replace(/^_+|_+$/g, "").includes("_") || wordsOf(word).length > 1) : [];
    const spoken = (asked.text.match(/[A-Za-z0-9_\u0080-\uffff]+/g) ?? []).map(lowered), named = IN_LANGUAGE.exec(asked.text);
    return { terms, language: !named ? "" : named[1].toLowerCase() === "python" ? "python" : "cpp",
      phrases: new Set(spoken.slice(1).flatMap((word, i) => (modals.has(spoken[i]) ? [`${spoken[i]}_${word}`] : []))), devices: new Set(terms.flatMap((term) => [term.word, ...term.others]).filter((word) => devices.has(word))),
      telling: terms.reduce((all, term) => all + (term.isBackend ? 0 : term.weight), 0), words: new Set(every.flatMap((word) => [word, stem(word)])),
      names: new Set(names.map((word) => lowered(word).replace(/^_+|_+$/g, ""))), ofKernel: terms.some((term) => term.isKernel),
      explains: asked.question && asked.dropped.some((word) => explaining.has(word)) };
  }
  function summed({ terms, telling }, scores, isTyped) {
    const weighed = (of) => terms.reduce((all, term, i) => all + of(term, scores[i]), 0);
    if (!scores.some(Boolean)) return null;
    if (!isTyped && PART * weighed((term, score) => (score && !term.isBackend ? term.weight : 0)) < telling) return null;
    const total = weighed((term, score) => (term.isBackend ? 0 : score ? term.weight * score : -LOST * term.weight));
    const ofBackends = terms.flatMap((term, i) => (term.isBackend ? [term.weight * scores[i]] : []));
    return ofBackends.length ? total + (Math.max(...ofBackends) || -LOST_BACKEND * OF_DEVICE) : total;
  }
  const isAsked = (answers, word) => answers.words.has(word) || answers.words.has(stem(word))
    || (word.length >= 3 && answers.terms.some((term) => [term.word, ...term.others].some((text) => text.includes(word))));
  function entryScore(answers, row) {
    const language = languageOf(row.kind === "p" ? row.name : "od".includes(row.kind) ? "" : row.path);
    if (answers.language && language && language !== answers.language) return null;
    const isPath = "pd".includes(row.kind), scopes = row.context.replaceAll(".", "/").split(/\s+|::|\//), dot = row.name.lastIndexOf(".");
    const name = row.kind === "o" ? base(row) : row.kind === "p" && dot > 0 ? row.name.slice(0, dot) : row.name, ending = row.kind === "p" ? row.name.slice(dot + 1) : "";
    const own = row.kind === "o" ? together([...wordsOf(row.context), ...wordsOf(name)]) : ofName(name);
    const file = !isPath && row.kind !== "o" && row.path ? row.path.split("/").at(-1) : "", end = file.lastIndexOf(".");
    const near = [ofName(scopes.at(-1)), ...(file ? [ofName(end < 0 ? "" : file.slice(0, end))] : [])];
    const whole = isPath ? `${row.context}/${row.name}` : `${row.context.replaceAll("::", "/")}/${row.kind === "o" ? "" : row.path || ""}`, far = ofPath(whole);
    if (answers.devices.size && !intersects(answers.devices, far.equal) && !intersects(answers.devices, own.equal)
      && (intersects(devices, far.equal) || intersects(devices, own.equal))) return null;
    const fields = [[own, OWN], ...near.map((words) => [words, NEAR_BY]), [far, isPath ? NEAR_BY : FAR]];
    const scores = answers.terms.map((term) => {
      const score = term.isBackend ? Math.min(best(term, fields), 1) * BACKEND : best(term, fields);
      return row.kind === "o" && (term.isBackend || term.isKernel) ? Math.max(score, ON_CARD) : score;
    });
    const plainName = lowered(name).replace(/^_+|_+$/g, ""), isTyped = answers.names.has(plainName), total = summed(answers, scores, isTyped);
    if (total === null) return null;
    const unused = wordsOf(name).filter((word) => word && !stops.has(word) && (answers.devices.size || !devices.has(word)) && !isAsked(answers, word)).length;
    const native = `/${whole}/`.includes("/native/"); // a namespace "Native" elsewhere is no folder of kernels
    const unlikely = [...special].filter((word) => far.equal.has(word) && (native || word !== "cuda"));
    const onBackend = answers.terms.some((term, i) => term.isBackend && scores[i]), area = row.area ?? 0;
    const price = EXTRA * Math.min(unused, MOST_EXTRA) + (row.minor ? MINOR : 0) + AREAS[area === 1 && onBackend ? 0 : area]
      + (unlikely.length && !unlikely.some((word) => isAsked(answers, word)) ? UNASKED : 0) + (PRICES[rankKind(row)] ?? 0)
      + (row.kind === "o" && answers.ofKernel ? NOT_KERNEL : 0) + (["h", "hpp", "pyi"].includes(ending) ? HEADER : 0);
    return total - price + (isTyped ? EXACT : 0) + (answers.phrases.has(plainName) ? WITH_MODAL : 0) + Math.min(row.uses ?? 0, MOST_USES[row.kind] ?? USUAL_USES);
  }
  const ofTopic = (topic) => (topic.fields ??= [[ofStems(topic.titled), OWN], [ofStems(topic.about), NEAR_BY], [ofStems(topic.words), FAR]]);
  function topicScore(answers, topic) {
    if (topic.kind === "d" && answers.devices.size) {
      const named = wordsOfPath(topic.names[0]).filter((word) => devices.has(word));
      if (named.length && !named.some((word) => answers.devices.has(word))) return null;
    }
    const scores = answers.terms.map((term) => best(term, ofTopic(topic))), total = summed(answers, scores, false);
    return total === null || !answers.explains ? total : total + EXPLAINS * answers.terms.reduce((all, term, i) => all + (scores[i] ? term.weight : 0), 0);
  }
  const hasAll = (answers, topic) => answers.terms.every((term) => best(term, ofTopic(topic)));
  /* Returns the query with likely spellings of the words that nothing has: the nearest words of the notes. */
  function respelled(asked, rows, topics) {
    let text = asked.text;
    const remarks = [], { terms } = answering(asked, topics), counts = new Map();
    const squeezed = (one) => one.replaceAll("_", "");
    const unknown = terms.filter((term) => term.word.length >= SHORTEST_RESPELLED && !term.forms.some(({ short }) => rows.some((row) => (
      squeezed(row.low).includes(squeezed(short)) || squeezed(lowered(row.path || "")).includes(squeezed(short))))));
    if (!unknown.length) return { text, remarks };
    for (const topic of topics) for (const word of new Set([...topic.titled, ...topic.words])) counts.set(word, (counts.get(word) || 0) + 1);
    for (const { word } of unknown) {
      const near = [...counts.keys()].filter((one) => slipFit(word, one)).map((one) => [slips(word, one, 3), -counts.get(one), one]).sort(compared);
      if (!near.length) continue;
      const spelling = near[0][2];
      text = text.replace(new RegExp(`(?<![^\\W_])${word}(?![^\\W_])`, "gi"), spelling);
      remarks.push(`no name has ${word}: searched for ${spelling}`);
    }
    return { text, remarks };
  }
  const nearRoots = (first) => (roots.has(first) || first.length < 4 ? [] : [...roots].filter((root) => slips(first, root, 1) === 1).sort());
  /* Returns the query without the typing error in the first part of a name: "troch.nn.Linear" is torch.nn.Linear. */
  function withRootSpelled(asked) {
    const dot = asked.text.indexOf("."), near = asked.dotted && dot > 0 ? nearRoots(asked.text.slice(0, dot).toLowerCase()) : [];
    return near.length ? read(`${near[0]}${asked.text.slice(dot)}`) : asked;
  }

  /* --- the order --- */

  function compared(a, b) {
    for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
  }
  /* The first result of a family keeps its place; the others come after the results that are equal so far. */
  function inOrder(rated) {
    const times = new Map();
    rated.sort((a, b) => compared(a.key, b.key)).forEach((one, number) => {
      const which = `${one.key[0]} ${one.family}`, count = (times.get(which) || 0) + 1;
      times.set(which, count);
      one.key[2] = Math.min(2, count);
      one.number = number;
    });
    return rated.sort((a, b) => compared(a.key, b.key) || a.number - b.number);
  }

  /* Returns everything that fits, best first, and how it was searched. `rows` are names, `topics` are notes. */
  function ranked(given, rows, topics) {
    let asked = given;
    const weights = weightsOf(asked, topics), remarks = [], by = new Map(), answers = answering(asked, topics);
    const put = (key, of, what) => { // a folder that fits by its name and by its page is one result
      const known = what.kind === "d" ? by.get(of) : undefined;
      if (!known || compared(key, known.key) < 0) by.set(what.kind === "d" ? of : what, { key, family: of, what });
    };
    const noteKey = (topic) => {
      const fit = topicFit(asked, topic, weights), key = fit && topicKey(asked, fit, topic);
      if (!answers.terms.length || (key && key[0] <= TITLE)) return key;
      const score = topicScore(answers, topic);
      return score === null ? null : keyOf(asked, { kind: topic.kind, name: topic.names[0], context: "", order: topic.number }, ANSWERED, -score, false, 0);
    };
    let said = topics.map((topic) => ({ topic, key: noteKey(topic) })).filter((one) => one.key);
    const answerKey = (row, key) => {
      const score = answers.terms.length ? entryScore(answers, row) : null;
      if (score === null) return key;
      const answer = keyOf(asked, row, ANSWERED, -score, false, 0);
      return !key || compared(answer, key) < 0 ? answer : key;
    };
    const named = (slipsToo) => rows.map((row) => ({ row, key: answerKey(row, entryKey(asked, row, slipsToo)) })).filter((one) => one.key);
    let names = named(false);
    if (!asked.joined && !asked.question && ![...names, ...said].some((one) => one.key[0] <= BEGINS)) {
      asked = withRootSpelled(asked);
      names = named(true);
      for (const topic of topics) {
        const fit = topic.kind === "d" ? null : topic.names.map((name) => slipFit(asked.text, name)).find(Boolean);
        if (fit) said.push({ topic, key: topicKey(asked, fit, topic) });
      }
    }
    const whole = said.filter((one) => one.key[0] !== HALF_SAID && one.key[0] !== LATE_HALF);
    const some = `no note has all the words ${asked.words.join(", ")}: the notes below have some of them`;
    if (answers.terms.length) {
      if (said.length && !topics.some((topic) => hasAll(answers, topic))) remarks.push(some);
    } else if (asked.words.length > 1 && !whole.length) {
      if (said.length && (asked.plain || !names.length)) remarks.push(some);
      else said = [];
    } else said = whole;
    if (asked.dropped.length && said.length) remarks.push(`left out in notes: ${[...new Set(asked.dropped)].join(", ")}`);
    for (const { row, key } of names) put(key, key[0] === ANSWERED && row.kind !== "d" ? `answer ${answerFamily(row)}` : family(row), row);
    for (const { topic, key } of said) put(key, topic.kind === "d" ? `d ${topic.names[0]}` : `${topic.kind} ${topic.names[0]}`, topic);
    const results = inOrder([...by.values()]).map((one) => one.what), first = results[0];
    if (asked.dotted && first && !first.names && !first.python && !"opd".includes(first.kind)) {
      remarks.push(`no Python name here is ${asked.name}: the C++ names are listed`);
    }
    return { results, remarks };
  }
  globalThis.ptx ??= {};
  /* The names of an operator's kernels for a backend, or how they begin. */
  const kernelNames = ({ operator, backend }) => forms.map((form) => form.replace("{operator}", operator).replace("{backend}", backend));
  ptx.ranking = { readBy, read, askedOperator, kernelNames, nameFit, slipFit, topicFit, weightsOf, stem, plainWords, parts, lowered, ranked, answering, entryScore, topicScore, respelled, nearRoots };
})();
