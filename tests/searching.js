/* Drives the site's real search over real shards, without a page: node searching.js ASSETS SITE < queries (JSON); the answers as JSON. */
const fs = require("fs"), path = require("path"), vm = require("vm");
const [assets, site] = process.argv.slice(2), loading = new Map();
const run = (file) => vm.runInThisContext(fs.readFileSync(file, "utf8"), { filename: file });
const load = async (url) => { if (!loading.has(url)) { loading.set(url, true); run(path.join(site, url)); } };
Object.assign(globalThis, { document: { querySelector: () => null }, ptx: { address: (url) => url, make: () => ({}), load } });
run(path.join(assets, "ranking.js"));
run(path.join(assets, "search.js"));
const KINDS = { f: "function", c: "class", m: "macro", t: "typedef", v: "variable", e: "enum", o: "operator", p: "file", d: "folder", g: "tour", n: "stop",
  k: "concept", h: "heading", x: "trace" };
function named(one) {
  const kind = one.kind === "e" && one.method ? "enumerator" : KINDS[one.kind];
  if (one.names) return `${kind} ${one.names[0]}`;
  const parted = "pd".includes(one.kind) ? "/" : one.python ? "." : "::";
  return `${kind} ${one.context ? one.context + parted : ""}${one.name}`;
}
(async () => {
  const answers = [];
  for (const query of JSON.parse(fs.readFileSync(0, "utf8"))) {
    const { results, told } = await ptx.search(query);
    answers.push({ results: results.slice(0, 10).map(named), at: results.slice(0, 10).map((one) => one.href), told });
  }
  process.stdout.write(JSON.stringify(answers));
})();
