"""Records in, meaning out: metrics, intervals, crossings and the closed forms. Pure functions; no simulation here."""
