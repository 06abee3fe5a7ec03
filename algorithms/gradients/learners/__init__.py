"""The updates of learners as their papers have them, in torch; tests hold the fast programs to these losses."""
