"""Records in, meaning out: metrics, intervals, crossings and closed forms. Pure functions; no simulation here."""
