"""Dart (Xue et al., IEEE/ACM ToN 2020), a module for each figure and table.

The figures run the schemes of ``rdmacc.preset("dart-2020")``, never the registered ``rdmacc.scheme("dart")``: see
`rdmacc.experiments.dart.setup`.
"""

from __future__ import annotations

from rdmacc.experiments.framework.registry import import_modules

import_modules(__name__)
