"""Front ends: what reads a model of another framework into the graph of zeropoint.ir."""
