"""The packages: those in `rdmacc`, and the folders beside it, which are installed into it."""

from setuptools import find_packages, setup

BESIDE = ("experiments", "models", "notebooks")

beside = find_packages(include=[name for one in BESIDE for name in (one, f"{one}.*")], exclude=["*._*"])
setup(packages=find_packages(include=["rdmacc", "rdmacc.*"]) + [f"rdmacc.{name}" for name in beside])
