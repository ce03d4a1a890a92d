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
