-- The index of one tree's source text. Version 1 (PRAGMA user_version; history below).
--
-- The first build writes another file and renames it. Later builds change the file in place, in one transaction: a
-- changed file replaces only its own rows. Paths are canonical. Every row of a file has an id between file << 20 and
-- (file + 1) << 20: the rows of a file are one range and need no index. Kinds and extractors are numbers
-- (store/index/rows.py).
--
-- 1: first version.

-- Facts about the index: "tree" (name), "source" (identifies the tree among those of the same name), "complete",
-- "recipe" (version of the extractors), "next_file", "unread" (JSON: files that could not be read), "macro_table"
-- (JSON: the macros that files were read with), "worn" (files replaced since the index was built from nothing), "tally"
-- (JSON: rows by kind).
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE file (
    id INTEGER PRIMARY KEY,           -- never given twice: see `words`
    path TEXT NOT NULL UNIQUE,
    language TEXT NOT NULL, layer TEXT NOT NULL, extractor TEXT NOT NULL,
    sha TEXT NOT NULL, size INTEGER NOT NULL,
    stamp INTEGER NOT NULL,           -- mtime_ns when it was read; 0 where that is too near to be believed
    lines INTEGER NOT NULL,
    tally TEXT NOT NULL,              -- JSON: how many rows of which kind
    problems TEXT                     -- JSON list, NULL where none
);

-- Strings that repeat: scopes, guards, targets. id: the first 63 bits of the text's BLAKE2b. So the id follows from the
-- text, and workers need not agree on ids.
CREATE TABLE text (id INTEGER PRIMARY KEY, text TEXT NOT NULL);

CREATE TABLE symbol (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    container INTEGER,                -- text before the name in the qualified name ("at::native::"), NULL where none
    scope INTEGER,                    -- text; NULL where it is the container less its last separator
    kind INTEGER NOT NULL, line INTEGER NOT NULL,
    begin INTEGER NOT NULL, end_line INTEGER NOT NULL,  -- lines before and after `line`
    flags INTEGER NOT NULL,           -- 1 declaration, 2 template, 4 static, 8 scope is empty, 16 of a test, 32 virtual
    extractor INTEGER NOT NULL,
    signature TEXT, parameters TEXT, guards INTEGER, macro TEXT
);

-- All uses with the same text and kind in one file.
CREATE TABLE ref (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL, kind INTEGER NOT NULL,
    text TEXT,                        -- NULL where it is the name
    target INTEGER, extractor INTEGER NOT NULL,
    lines NOT NULL                    -- the line; a BLOB of deltas (varint) where there are several
);

CREATE TABLE dialect (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL, name TEXT NOT NULL, context TEXT, target TEXT,
    last TEXT,                        -- the target's last part
    line INTEGER NOT NULL, end_line INTEGER NOT NULL, block INTEGER,
    macro TEXT NOT NULL, text TEXT NOT NULL, guards INTEGER
);

-- Every distinct symbol name, sorted, each between line ends. Search reads this text. One row.
CREATE TABLE names (names TEXT NOT NULL);

-- Every distinct word of every file, for full text: only words, no positions. rowid is file.id. The words of a replaced
-- file remain here, but match no row of `file`, since an id is never used twice.
CREATE VIRTUAL TABLE words USING fts5 (body, content = '', detail = none, tokenize = "unicode61 tokenchars '_'");

-- Created last, when the rows are there.
CREATE INDEX symbol_name ON symbol (name, container);
CREATE INDEX ref_name ON ref (name);
CREATE INDEX dialect_name ON dialect (name);
CREATE INDEX dialect_last ON dialect (last) WHERE last IS NOT NULL;
