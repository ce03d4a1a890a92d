; What the C++ reader wants of a syntax tree (the grammar is tree-sitter-cpp's): scopes, and what is declared in them.
; The reader (tree.py) takes the matches in the order of the text. `@name` is the node of a name; the other capture of a
; pattern says what it is, and is a method of the reader. Functions and variables have no `@name`: a declarator nests
; without end (`int (*f(int))[3]`), which no pattern follows; the reader goes down it.

; Scopes
(namespace_definition name: (_)? @name) @namespace
(class_specifier name: (_)? @name body: (_)) @class
(struct_specifier name: (_)? @name body: (_)) @class
(union_specifier name: (_)? @name body: (_)) @class
(enum_specifier name: (_)? @name body: (_)) @enum

; A statement that may stand in a scope and in code is wanted in the scope only: a body's variables are nobody's.
(function_definition) @function
(translation_unit (declaration) @declaration)
(declaration_list (declaration) @declaration)
(linkage_specification (declaration) @declaration)
(friend_declaration (declaration) @declaration)
(template_declaration (declaration) @declaration)
(field_declaration_list (declaration) @declaration)
(field_declaration) @declaration
(translation_unit [(class_specifier name: (_) @name !body) (struct_specifier name: (_) @name !body)] @forward)
(declaration_list [(class_specifier name: (_) @name !body) (struct_specifier name: (_) @name !body)] @forward)
(template_declaration [(class_specifier name: (_) @name !body) (struct_specifier name: (_) @name !body)] @forward)
(enumerator name: (_) @name) @enumerator
(type_definition) @typedef
(alias_declaration name: (_) @name) @alias
(concept_definition name: (_) @name) @concept

; What stands around a declaration: where its template head begins, whether a class befriends it
(template_declaration) @template
(friend_declaration) @friend

; References
(base_class_clause) @bases
