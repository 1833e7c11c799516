# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs without .py at the end, for their tests."""

import importlib.machinery
import importlib.util
import sys


def load_script(path, name):
    """The module that the program is, under that name; what it does as a program is not done."""
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module
    loader.exec_module(module)
    return module
