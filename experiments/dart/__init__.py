"""Dart (Xue et al., IEEE/ACM ToN 2020), a module for each figure and table.

The figures run the schemes of ``rdmacc.preset("dart-2020")``, never the registered ``rdmacc.scheme("dart")``: see
`rdmacc.experiments.dart.setup`.
"""
