import numpy as np

from specsim.arrays import fields_of
from specsim.costs.lowered import PassTime
from specsim.forward import Pass, new_passes, pass_at, passes_of, write_pass
from specsim.records import StepTime

ONE, OTHER = Pass(*range(1, 11)), Pass(*range(11, 21))


def test_a_table_gives_back_each_field_of_the_passes_written_to_it():
    table = new_passes(2)
    write_pass(table, 0, ONE)
    write_pass(fields_of(table), 1, OTHER)
    assert [pass_at(table, i) for i in range(2)] == [ONE, OTHER]
    np.testing.assert_array_equal(table, passes_of([ONE, OTHER]))


def test_the_parts_of_a_pass_are_the_first_of_a_step():
    assert StepTime._fields[: len(PassTime._fields)] == PassTime._fields
