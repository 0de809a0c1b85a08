"""How an answer reaches people: options in; sentences, tables, figures and folders out. Knows no question."""
