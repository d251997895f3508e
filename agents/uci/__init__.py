"""UCI engines as agents: processes that speak the Universal Chess Interface, for chess and its relatives."""
