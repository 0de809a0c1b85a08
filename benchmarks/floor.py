"""What must be read, read as fast as the machine can; compiled, so it needs numba."""

import numpy as np
from numba import njit

from specsim.verification.compiled import verify_rows_into


@njit(fastmath=True)
def read_what_must_be_read(draft, q, p, num_draft, accept):
    """Sum of the drafted entries that decide, and of the rows that the last token is drawn from."""
    K, total = draft.shape[1], 0.0
    for b in range(len(draft)):
        i = 0
        while i < num_draft[b] and accept[b, i] * q[b * K + i, draft[b, i]] < p[b * (K + 1) + i, draft[b, i]]:
            i += 1
        p_row = p[b * (K + 1) + i]
        if i < num_draft[b]:
            q_row = q[b * K + i]
            for x in range(len(p_row)):
                total += p_row[x] + q_row[x]
        else:
            for x in range(len(p_row)):
                total += p_row[x]
    return total


@njit(fastmath=True)
def read_all(numbers):
    """Sum of everything."""
    total = 0.0
    for x in range(len(numbers)):
        total += numbers[x]
    return total


@njit
def many_steps(count, rule, draft, num_draft, q, q_row, p, p_row, greedy, accept, final, out, num_out):
    """So many steps in one call, as a compiled simulator makes them."""
    for step in range(count):
        accept[0, 0] = np.float64(step) / count  # so that no step can be taken out of the loop
        verify_rows_into(rule, draft, num_draft, q, q_row, p, p_row, greedy, accept, final, out, num_out)
