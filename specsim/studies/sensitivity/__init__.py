"""How far the break-even moves when an input is off."""
