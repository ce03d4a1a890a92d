-- The catalogue of one installed torch. Version 1 (PRAGMA user_version; history below).
--
-- The file is written once, under another name, then renamed, and after that only read. Writing needs torch; reading
-- does not. Paths are canonical: the path of the file in the PyTorch repository.
--
-- 1: first version.

-- Facts about the catalogue. 'complete' is written last.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Every path that the catalogue names, once.
CREATE TABLE path (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);

-- One overload of one operator, as registered. Lists are JSON arrays of strings.
CREATE TABLE operator (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,        -- aten::add.Tensor
    base TEXT NOT NULL,               -- add
    schema TEXT NOT NULL,
    aliases TEXT NOT NULL,
    tags TEXT NOT NULL,
    variants TEXT NOT NULL,
    structured TEXT,
    autogen INTEGER NOT NULL,
    yaml_path INTEGER REFERENCES path, yaml_line INTEGER, yaml_end INTEGER,
    cpp_name TEXT,
    call_path INTEGER REFERENCES path, call_line INTEGER, redispatch_line INTEGER,
    core INTEGER NOT NULL,
    digest TEXT NOT NULL              -- of dump and table: tells whether a running process still has the same kernels
);
CREATE INDEX operator_base ON operator (base);

-- One record of _dispatch_dump, in the order of the dump.
CREATE TABLE registration (
    id INTEGER PRIMARY KEY,
    op INTEGER NOT NULL REFERENCES operator,
    key TEXT,                         -- NULL: the schema's own record
    alias INTEGER NOT NULL, inactive INTEGER NOT NULL, fallthrough INTEGER NOT NULL,
    origin TEXT NOT NULL,
    path INTEGER REFERENCES path, macro_line INTEGER, op_line INTEGER,
    confirmed INTEGER NOT NULL, why_not TEXT,
    signature TEXT, callee TEXT, wrapper TEXT,
    body_path INTEGER REFERENCES path, body_line INTEGER, body_end INTEGER,
    redispatch TEXT, guard TEXT,
    target TEXT, target_kind TEXT, target_meta TEXT, body_why TEXT
);
CREATE INDEX registration_op ON registration (op);
CREATE INDEX registration_unconfirmed ON registration (why_not) WHERE NOT confirmed;

-- The dispatch tables: 3,600 operators x 130 keys. Entries, and the sets of keys that share an entry, repeat often. So
-- each is stored once, and an operator needs about a dozen pairs.
CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    reason TEXT NOT NULL, fallthrough INTEGER NOT NULL,
    path INTEGER REFERENCES path, line INTEGER, raw TEXT NOT NULL
);
CREATE TABLE keyset (id INTEGER PRIMARY KEY, keys TEXT NOT NULL UNIQUE);  -- names, comma-separated
CREATE TABLE dispatch (
    op INTEGER NOT NULL REFERENCES operator,
    position INTEGER NOT NULL,
    keyset INTEGER NOT NULL REFERENCES keyset,
    entry INTEGER NOT NULL REFERENCES entry,
    PRIMARY KEY (op, position)
) WITHOUT ROWID;

-- derivatives.yaml, for each operator that torchgen matches to an entry. Formulas are JSON.
CREATE TABLE derivative (
    op TEXT NOT NULL, position INTEGER NOT NULL,
    path INTEGER NOT NULL REFERENCES path, line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    source_op TEXT NOT NULL, formulas TEXT NOT NULL, node TEXT, matched TEXT NOT NULL, dispatch TEXT NOT NULL,
    PRIMARY KEY (op, position)
) WITHOUT ROWID;
CREATE INDEX derivative_node ON derivative (node);

-- The apply method of every generated autograd node.
CREATE TABLE node (
    name TEXT PRIMARY KEY, path INTEGER NOT NULL REFERENCES path, line INTEGER NOT NULL, end_line INTEGER NOT NULL
) WITHOUT ROWID;

-- Rows of the generated PyMethodDef tables.
CREATE TABLE binding (
    id INTEGER PRIMARY KEY,
    tab TEXT NOT NULL, name TEXT NOT NULL, c_function TEXT NOT NULL,
    path INTEGER NOT NULL REFERENCES path, line INTEGER NOT NULL, end_line INTEGER, entry_line INTEGER NOT NULL,
    ops TEXT NOT NULL
);
CREATE INDEX binding_name ON binding (name, tab);
CREATE TABLE binding_op (op TEXT NOT NULL, binding INTEGER NOT NULL, PRIMARY KEY (op, binding)) WITHOUT ROWID;

-- Public Python names.
CREATE TABLE python_name (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, tab TEXT, method TEXT, path INTEGER REFERENCES path, line INTEGER
) WITHOUT ROWID;
CREATE INDEX python_name_method ON python_name (method, tab);

-- Python callables that decompose an operator, implement it, or are its meta function.
CREATE TABLE python_kernel (
    id INTEGER PRIMARY KEY,
    op TEXT NOT NULL, role TEXT NOT NULL, function TEXT NOT NULL,
    path INTEGER REFERENCES path, line INTEGER, end_line INTEGER, key TEXT
);
CREATE INDEX python_kernel_op ON python_kernel (op);

-- Dispatch keys. The 64-bit sets are decimal text, since integers in SQLite are signed.
CREATE TABLE dispatch_key (
    position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, raw TEXT NOT NULL, after TEXT NOT NULL
);

-- Functions defined in generated C++. `symbol` has those that no other record names; `definition` has those that other
-- records name: ufunc kernels, view copies, stubs.
CREATE TABLE symbol (
    id INTEGER PRIMARY KEY, qualified TEXT NOT NULL, record TEXT NOT NULL  -- a Symbol of generated C++ that no record names
);
CREATE INDEX symbol_qualified ON symbol (qualified);

CREATE TABLE definition (
    id INTEGER PRIMARY KEY,
    symbol TEXT NOT NULL, kind TEXT NOT NULL,
    path INTEGER NOT NULL REFERENCES path, line INTEGER NOT NULL, end_line INTEGER NOT NULL
);
CREATE INDEX definition_symbol ON definition (symbol);
