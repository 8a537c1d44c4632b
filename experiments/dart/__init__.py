"""Dart (Xue et al., IEEE/ACM ToN 2020), a module for each figure and table."""
