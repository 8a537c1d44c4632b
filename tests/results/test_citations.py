"""The citations of a result."""

import importlib
import pkgutil

import pytest

import rdmacc
from rdmacc import protocols, switch
from rdmacc.interface import Component
from rdmacc.presets import PRESETS
from rdmacc.protocols.hpcc import Hpcc
from rdmacc.protocols.packet_meter import MarkMeter, PacketMeter
from rdmacc.results import citations
from rdmacc.results.citations import PAPERS, papers_of
from rdmacc.switch.buffer import DropTail, Pfc
from rdmacc.switch.queueing import Queueing
from rdmacc.workload import SIZES, dart_mix
from rdmacc.workload.sizes import DART_SHORT


def _components(package):
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for one in vars(importlib.import_module(module.name)).values():
            if isinstance(one, type) and issubclass(one, Component) and one.__module__ == module.name:
                yield one.__name__


def keys(scheme, work=None):
    return [paper.key for paper in papers_of(scheme, rdmacc.incast(["h1"], "h0", "1kB") if work is None else work)]


def test_the_tables_are_complete():
    ours = {*_components(protocols), *_components(switch)}
    others = {kind.__name__ for kind in (Pfc, DropTail, Queueing, MarkMeter, PacketMeter)}
    assert ours | others == set(citations.COMPONENTS)
    assert set(PRESETS) == set(citations.PRESETS)
    assert {*SIZES, DART_SHORT.name} == set(citations.SIZES)
    tables = (citations.COMPONENTS, citations.PRESETS, citations.SIZES)
    assert {key for table in tables for found in table.values() for key in found} == set(PAPERS)


def test_a_scheme_has_the_papers_of_its_parts():
    assert keys(rdmacc.scheme("homa")) == ["homa"]
    assert keys(rdmacc.scheme("line-rate")) == []

    class Mine(Hpcc):
        pass

    assert keys(rdmacc.Scheme(control=Mine())) == ["hpcc"]


def test_a_preset_adds_its_paper_even_if_its_parameters_are_changed():
    scheme = rdmacc.preset("hpcc-ns3")["dcqcn"]
    assert keys(scheme) == ["dcqcn", "hpcc"]
    assert keys(scheme.replace(payload_bytes=1500)) == ["dcqcn", "hpcc"]
    assert scheme == scheme.replace(preset="")  # its origin makes no difference


def test_workloads_remember_the_source_of_their_sizes():
    net = rdmacc.leaf_spine(2, 2, 4)
    search = rdmacc.poisson(net, "web_search", 0.3, count=20)
    mining = rdmacc.poisson(net, SIZES["data_mining"], 0.3, count=20)
    scheme = rdmacc.scheme("line-rate")
    assert keys(scheme, search) == ["dctcp"]
    assert keys(scheme, rdmacc.combine(search, mining)) == ["dctcp", "vl2"]
    assert keys(scheme, rdmacc.poisson(net, "64kB", 0.3, count=20)) == []
    assert keys(scheme, dart_mix(net, 0.5, duration="1ms", degree=4)) == ["dart"]


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_result_cites(engine):
    net = rdmacc.star(5)
    work = rdmacc.poisson(net, "cache_follower", 0.3, count=5)
    cited = rdmacc.simulate(net, work, rdmacc.preset("ndp-2017")["ndp"], engine=engine).cite()
    assert [paper.key for paper in cited] == ["ndp", "roy"]
    assert str(cited).count("\n") == 1
    assert "@misc{ndp," in cited.bibtex()
    assert "author = {Handley and others}" in cited.bibtex()
