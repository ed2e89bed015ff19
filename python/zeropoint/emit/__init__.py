"""From rows to C++: structure, blocks, text."""
