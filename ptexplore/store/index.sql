-- The index of one tree's source text. Version 1 (PRAGMA user_version; history below).
--
-- Updated in place inside one transaction per run: a changed file replaces only its own rows. Paths are canonical.
--
-- 1: first version.

-- Facts about the index: "tree" (name), "complete", "recipe" (version of the extractors), "macros" (digest of the
-- macro table files were read with), "counts" (JSON).
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE file (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    language TEXT NOT NULL, layer TEXT NOT NULL, extractor TEXT NOT NULL,
    sha TEXT NOT NULL, size INTEGER NOT NULL, stamp INTEGER NOT NULL,  -- stamp: mtime_ns when it was read
    lines INTEGER NOT NULL,
    problems TEXT                     -- JSON list, NULL where none
);

-- Strings that repeat: qualified names, scopes, signatures, guards, texts of references.
CREATE TABLE text (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

CREATE TABLE symbol (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES file,
    name TEXT NOT NULL,
    qualified INTEGER NOT NULL REFERENCES text,
    kind TEXT NOT NULL, line INTEGER NOT NULL, end_line INTEGER NOT NULL, begin INTEGER NOT NULL,
    flags INTEGER NOT NULL,           -- 1 declaration, 2 template, 4 static
    scope INTEGER REFERENCES text, signature INTEGER REFERENCES text, parameters INTEGER REFERENCES text,
    guards INTEGER REFERENCES text, macro INTEGER REFERENCES text,
    extractor TEXT NOT NULL
);
CREATE INDEX symbol_name ON symbol (name);
CREATE INDEX symbol_qualified ON symbol (qualified);
CREATE INDEX symbol_file ON symbol (file);

-- All uses of one text, of one kind, in one file: the lines packed as deltas (varint).
CREATE TABLE ref (
    name TEXT NOT NULL, file INTEGER NOT NULL REFERENCES file, kind INTEGER NOT NULL,
    text INTEGER NOT NULL REFERENCES text, target INTEGER REFERENCES text, extractor TEXT NOT NULL,
    lines BLOB NOT NULL
);
CREATE INDEX ref_name ON ref (name);
CREATE INDEX ref_file ON ref (file);

CREATE TABLE dialect (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES file,
    kind TEXT NOT NULL, name TEXT NOT NULL, context TEXT, target TEXT,
    line INTEGER NOT NULL, end_line INTEGER NOT NULL, block INTEGER,
    macro TEXT NOT NULL, text TEXT NOT NULL, guards INTEGER REFERENCES text
);
CREATE INDEX dialect_name ON dialect (name, kind);
CREATE INDEX dialect_target ON dialect (target) WHERE target IS NOT NULL;
CREATE INDEX dialect_file ON dialect (file, line);

-- Every distinct word of every file, for full text: the words only, no positions; rowid is file.id. What a replaced
-- file left behind here matches no row of `file` any more, since ids are never given twice (AUTOINCREMENT).
CREATE VIRTUAL TABLE words USING fts5 (words, content = '', detail = none, tokenize = "unicode61 tokenchars '_'");
