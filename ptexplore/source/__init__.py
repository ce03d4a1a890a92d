"""Where text comes from: the installed torch, its regenerated C++, and the one name every file has."""
