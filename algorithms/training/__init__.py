"""Tasks with gradient steps as algorithms name them: their settings and critics as plain values, without torch."""
