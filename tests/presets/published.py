"""Parameters as printed by papers and public simulators, in base units, to compare presets with.

Written from the sources, not from the presets. A preset's assumed values are here too, so no value of it changes
unnoticed.
"""

from typing import Any

from rdmacc.scaling import Scaled
from rdmacc.state import CONTROL, DATA_CLASS
from rdmacc.units import ms, ns, us

Values = dict[str, Any]


def of(component: str, **values: Any) -> Values:
    """Return parameters by "Component.parameter"."""
    return {f"{component}.{name}": value for name, value in values.items()}


def _packets(payload: int, header: int, ack: int, **more: Any) -> Values:
    return of("Scheme", payload_bytes=payload, header_bytes=header, ack_bytes=ack, **more)


# Wang et al., ICCCN 2019: table I and II-A.


def _igbn(recovery: str) -> Values:
    return _packets(1024, 48, 64) | of(
        recovery, timeout_ps=ms(100), nak_interval_ps=us(500), ack_every_packets=256, timer_after_last=True
    )


IGBN = {
    name: _igbn(recovery)
    for name, recovery in (
        ("go-back-0", "GoBack0"), ("go-back-n", "GoBackN"), ("send-twice", "SendTwice"), ("check-epsn", "CheckEpsn"),
        ("improved-go-back-n", "ImprovedGoBackN"),
    )
}  # fmt: skip

# Xue et al., IEEE/ACM ToN 2020: VI-A; RCP and InfiniBand CC: VI-D.

_DART = of("Scheme", payload_bytes=1460)
_DART_STEP = of("EcnStep", kmin_bytes=22_500, reference_bps=10e9)
_DART_DCQCN = _DART | _DART_STEP | of("EcnStep", at_nic=True) | of(
    "Dcqcn", g=1 / 256, cnp_interval_ps=us(50), increase_period_ps=us(55), byte_counter_bytes=10_000_000,
    alpha_period_ps=us(55), fast_recovery_steps=5, additive_bps=40e6, hyper_bps=400e6, reference_bps=40e9,
    clamp_target=True, min_rate_bps=10e6,
)  # fmt: skip
_DASR = of("Dasr", window_ps=us(6), full_packets=5)
_IOFD = of("FlowDeflection", threshold_bytes=15_000, tokens=4, short_bytes=8_000)
_PAIR = of("Scheme", connection="pair")
DART = {
    "dcqcn": _DART_DCQCN | _PAIR,
    "pri-q": _DART_DCQCN | _PAIR,
    "iofd": _DART_DCQCN | _IOFD | _PAIR,
    "dasr": _DART_DCQCN | _DASR,
    "dasr-no-look-ahead": _DART_DCQCN | _DASR,
    "dart": _DART_DCQCN | _DASR | _IOFD,
    "dctcp": _DART | _DART_STEP | {
        "Dctcp.initial_window": 10, "Scheme.start_delay_ps": us(300), "NewReno.min_timeout_ps": ms(10),
        "DropTail.limit_bytes": 225_000,
    },
    "timely": _DART | _PAIR | of(
        "Timely", t_low_ps=us(50), t_high_ps=us(500), additive_bps=1e6, beta=0.8, min_rtt_ps=0, hyper_after=5,
        segment_bytes=1460, has_window=True, is_paced=False, once_per_rtt=True,
    ),
    "rcp": _DART | of("RcpStamp", alpha=0.4, beta=0.4),
    "infiniband-cc": _DART | {"InfinibandCc.timer_ps": 153_600_000, "Fecn.marking_rate": 0},
}  # fmt: skip

# Zhang et al., ICNP 2021: V-A; the readings of V-E.

_RCC = {"late_samples": 3, "delta": 0.2, "eta": 0.95, "kp": 1e4, "kd": 1e5}
_TIMES = {"t_low_ps": us(50), "t_high_ps": us(500), "min_rtt_ps": us(20)}
_RCC_ECN = of("Red", kmin_bytes=100_000, kmax_bytes=400_000, pmax=0.2)
RCC = {
    "dcqcn": _RCC_ECN,
    "dcqcn-cnp": _RCC_ECN | of("Red", reference_bps=25e9) | of("Dcqcn", clamp_target=True),
    "hpcc": of("Hpcc", eta=0.95, max_stage=5, base_rtt_ps=us(12), min_rate_bps=8000 / 12e-6),
    "timely": of("Timely", additive_bps=10e6, beta=0.8, **_TIMES),
    "timely-hpcc": of("TimelyHpcc", **_TIMES),
    "homa": of("Homa", rtt_bytes=150_000, levels=8, resend_interval_ps=ms(5), ping_interval_ps=ms(5))
    | of("Scheme", routing="spray-random"),
    "expresspass": of(
        "ExpressPass", feedback="paper", initial_fraction=1 / 16, initial_weight=1 / 16, least_weight=0.01,
        target_loss=0.1, scaled_packets=0, early_stop=False, most_credit_bytes=92,
        retransmit_timeout_ps=us(100), idle_timeout_ps=ms(2),
    ) | of("DropTail", limit_bytes=0),
    **dict.fromkeys(("rcc", "rcc-pid", "rcc-ewa"), of("Rcc", **_RCC)),
    "rcc-sender": of("RccSender", **_RCC),
    "rcc-async": of("Rcc", **_RCC, jitter_ps=ns(500)),
    "rcc-n1": of("Rcc", **_RCC | {"late_samples": 1}, jitter_ps=ns(500)),
}  # fmt: skip

# Li et al., IEEE TCC 2021: section 6, and 2.3 of its testbed.


def _ren(buffer: int, rtt: int, window: int, timeout: int, min_timeout: int, kmin: int) -> dict[str, Values]:
    shared = _packets(1460, 40, 40) | of("DropTail", limit_bytes=buffer, alpha=1000.0)
    ren = shared | of("GrantClock", base_rtt_ps=rtt, least_timeout_ps=timeout) | of("RenMarker", base_rtt_ps=rtt)
    literal = ren | of("RenMarker", reading="literal")
    homa = {"rtt_bytes": 0, "levels": 8, "overcommit": 7, "resend_interval_ps": ms(1), "ping_interval_ps": ms(1)}
    return {
        "ren": ren,
        "ren-ecmp": ren | of("Scheme", routing="ecmp"),
        "ren-literal": literal,
        "ren-literal-unsafe": literal | of("Ren", keeps_one=False, probe_ps=0),
        "ren-packet": ren | of("RenMarker", reading="packet"),
        "ren-alternate": ren | of("RenMarker", reading="alternate"),
        "traditional": shared | of("GrantClock", base_rtt_ps=0) | of("Scheme", routing="spray-random"),
        "dctcp": shared | of("Dctcp", g=1 / 16, initial_window=10) | of("NewReno", min_timeout_ps=min_timeout)
        | of("EcnStep", kmin_bytes=kmin, reference_bps=0) | of("Scheme", start_delay_ps=0),
        "phost": shared | of("PHost", free_packets=0, window_packets=0, ask_timeout_ps=ms(1)),
        "homa": shared | of("Homa", **homa),
        "homa-2-levels": shared | of("Homa", **homa | {"levels": 2}),
        "aeolus": shared | of("HomaAeolus", **homa) | of("SelectiveDrop", threshold_bytes=6_000),
        "ndp": shared | of("PayloadTrimming", limit_packets=8) | of("Queueing", control_limit_bytes=12_000)
        | of("Ndp", initial_window=window, pull_bytes=1_500, timeout_ps=ms(1), pull_timeout_ps=ms(10)),
        "expresspass": shared | of("Scheme", routing="symmetric") | of(
            "ExpressPass", initial_fraction=1 / 16, initial_weight=1 / 16, least_weight=0.01, target_loss=0.125,
            retransmit_timeout_ps=us(100), idle_timeout_ps=ms(2),
        ) | of("Queueing", credit_fraction=84 / 1622, credit_limit_bytes=8 * 84),
    }  # fmt: skip


# NDP's window: 10 us at 40 Gb/s are 33.3 packets, and one on each of 4 links; 48 us at 10 Gb/s are 40, and 3 links and
# the grant's. Rounded up.
REN = _ren(128_000, us(10), 38, us(50), ms(1), 45_000)
REN_TESTBED = _ren(64_000, us(48), 44, ms(1), ms(10), 30_000)
REN_TESTBED["traditional"] |= of("GrantClock", least_timeout_ps=ms(1))

# alibaba-edu/High-Precision-Congestion-Control: simulation/run.py, rdma-hw.cc, third.cc, at 100 Gb/s.

_HPCC = _packets(1000, 48, 60, tick_ps=ns(1), base_rtt="network", ack_priority=DATA_CLASS) | of(
    "GoBackN", ack_every_packets=1, nak_interval_ps=us(500)
) | of("Pfc", alpha=1 / 8, frame_bytes=43)  # fmt: skip
_AT_NIC = of("Scheme", nic_ack_priority=CONTROL)
_HPCC_DCQCN = _HPCC | of("Red", kmin_bytes=100_000, kmax_bytes=400_000, pmax=0.2) | of(
    "DcqcnHpcc", g=1 / 256, fast_recovery_steps=1, additive_bps=5e6, hyper_bps=50e6, min_rate_bps=1e9,
    clamp_target=False,
)  # fmt: skip
_QUICK = of("DcqcnHpcc", alpha_period_ps=us(1), decrease_period_ps=us(4), increase_period_ps=us(300))
_PAPER = of("DcqcnHpcc", alpha_period_ps=us(50), decrease_period_ps=us(50), increase_period_ps=us(55))
_HPCC_TIMELY = _HPCC | _AT_NIC | of(
    "TimelyHpcc", t_low_ps=us(50), t_high_ps=us(500), min_rtt_ps=us(20), ewma=0.875, beta=0.8, additive_bps=10e6,
    hyper_bps=50e6, min_rate_bps=1e9, timestamp_bytes=8,
)  # fmt: skip
_HPCC_HPCC = _HPCC | of("Scheme", ack_bytes=88) | of(
    "Hpcc", eta=0.95, additive_bps=10e6, reference_bps=25e9, min_rate_bps=1e9, fast_reaction=True, unit_multiple=4,
    overhead_bytes=42, whole_bps=True,
)  # fmt: skip
HPCC = {
    "dcqcn": _HPCC_DCQCN | _QUICK | _AT_NIC,
    "dcqcn-paper": _HPCC_DCQCN | _PAPER | _AT_NIC,
    "dcqcn-vwin": _HPCC_DCQCN | _QUICK | of("DcqcnHpcc", has_window=True),
    "dcqcn-paper-vwin": _HPCC_DCQCN | _PAPER | of("DcqcnHpcc", has_window=True),
    "timely": _HPCC_TIMELY,
    "timely-vwin": _HPCC_TIMELY | of("TimelyHpcc", has_window=True),
    "dctcp": _HPCC | of("DctcpHpcc", g=1 / 16, additive_bps=615e6, min_rate_bps=1e9, has_window=True)
    | of("EcnStep", kmin_bytes=30_000, reference_bps=10e9, at_dequeue=True),
    "hpcc": _HPCC_HPCC | of("Hpcc", max_stage=0),
    "hpcc-mi5": _HPCC_HPCC | of("Hpcc", max_stage=5),
}  # fmt: skip

# Montazeri et al., SIGCOMM 2018, with PlatformLab/HomaSimulation; serhatarslan-hub/HomaL4Protocol-ns-3.

HOMA = _packets(1472, 66, 84, least_wire_bytes=84, routing="spray-random") | of("DropTail", alpha=1000.0) | of(
    "Homa", rtt_bytes=9_750, levels=8, cutoffs=(), overcommit=7, resend_interval_ps=ms(5), ping_interval_ps=ms(5)
)  # fmt: skip
HOMA_NS3 = (
    _packets(1460, 42, 42, tick_ps=ns(1), ack_priority=DATA_CLASS, routing="spray-random")
    | of("DropTail", alpha=1000.0, limit_bytes=751_000)
    | of(
        "Homa", rtt_bytes=10_220, separates_levels=False, levels=8, cutoffs=(17_520,), overcommit=6,
        lowest_levels=False, grant_sets_level=True,
        resend_interval_ps=ms(100), ping_interval_ps=ms(1_000_000), retry_limit=5,
    )
)  # fmt: skip

# Handley et al., SIGCOMM 2017; Broadcom/csg-htsim, sim/datacenter/main_ndp.cpp and main_roce.cpp.


def _ndp(mtu: int) -> Values:
    return _packets(mtu - 64, 64, 64) | {
        "Queueing.trimmed_bytes": 64, "Queueing.wrr_ratio": 10, "Queueing.returns_headers": True,
        "PayloadTrimming.limit_packets": 8, "Ndp.initial_window": 30, "Ndp.timeout_ps": ms(1), "Ndp.pull_bytes": mtu,
        "Ndp.pull_timeout_ps": ms(10), "Queueing.control_limit_bytes": 8 * mtu,
    }  # fmt: skip


def _ndp_htsim(mtu: int, window: int) -> Values:
    return _packets(mtu, 64, 64, least_wire_bytes=mtu + 64) | {
        "Queueing.trimmed_bytes": 64, "Queueing.wrr_ratio": 100_000, "Queueing.returns_headers": False,
        "Ndp.pull_rate": 0.99, "Ndp.timeout_ps": 0, "Ndp.initial_window": window, "Ndp.pull_bytes": mtu + 64,
        "PayloadTrimming.counts_sending": True, "PayloadTrimming.limit_bytes": 8 * mtu,
        "Ndp.pull_timeout_ps": ms(10), "Queueing.control_limit_bytes": 16 * mtu,
    }  # fmt: skip


def _roce(mtu: int) -> Values:
    return _packets(mtu, 64, 64, least_wire_bytes=mtu + 64, ack_priority=DATA_CLASS, tick_ps=1) | {
        "GoBackN.ack_every_packets": 1, "Pfc.reserve_bytes": 0, "Pfc.xoff_bytes": 15 * mtu,
        "Pfc.xon_offset_bytes": (15 - 12) * mtu,
    }  # fmt: skip


# Gao et al., CoNEXT 2015, with NetSys/simulator (YAPS): py/run_experiments.py, ext/capability*.cpp.

_PHOST = _packets(1460, 40, 40, routing="spray-random") | of("DropTail", limit_bytes=36_864) | of(
    "PHost", free_packets=8, window_packets=8, window_timeout_packets=25, expiry_packets=1.5, resend_packets=9
)  # fmt: skip
PHOST = _PHOST | of("PHost", free_rule="paper", downgrade_rtts=3, ask_timeout_ps=ms(1))
PHOST_YAPS = _PHOST | of("Scheme", least_wire_bytes=1500) | of(
    "PHost", free_rule="simulator", holds_slots=True, token_bytes=1500, free_resend_ps=240_000, short_packets=0,
    downgrade_rtts=0, wakes_on_data=False, ask_timeout_ps=ms(10),
)  # fmt: skip

# Cho et al., SIGCOMM 2017: section 5; kaist-ina/ns2-xpass, large-scale-fattree.tcl and ns-default.tcl.

_XPASS = (
    _packets(1460, 78, 84, least_wire_bytes=84)
    | of("Queueing", credit_fraction=84 / (84 + 1538), credit_burst_bytes=2 * 84, credit_limit_bytes=8 * 84)
    | of("DropTail", alpha=1000.0, limit_bytes=250 * 1538)
    | of("ExpressPass", jitter=0.1, initial_fraction=0.5, least_weight=0.01, most_credit_bytes=92)
    | of("ExpressPass", retransmit_timeout_ps=us(100), idle_timeout_ps=ms(2))
)
XPASS = {
    "expresspass": _XPASS | of(
        "ExpressPass", initial_weight=1 / 16, target_loss=0.125, least_credit_bytes=76
    ),
    "expresspass-paper": _XPASS | of(
        "ExpressPass", feedback="paper", initial_weight=0.5, target_loss=0.1, scaled_packets=0, early_stop=False,
        least_credit_bytes=84,
    ),
}  # fmt: skip

# uet-htsim: main_uec.cpp, uec.cpp, uecpacket.h.

_UET = _packets(4086, 64, 64, base_rtt="largest") | of("Queueing", trimmed_bytes=64)
UET = {
    "nscc": _UET,
    "rccc": _UET
    | of("UetQueue", marks_last_hop=False)
    | of("ReceiverCredit", oversubscription=Scaled(1.0, oversubscription=1.0)),
    "nscc-rccc": _UET | of("UetQueue", marks_last_hop=False) | of("Nscc", spares_last_hop=True),
}

# UE specification 1.0.3: sections 3.5.12, 3.6.13.3, 3.6.16.3, 3.6.17, table 3-82; the rest is uet-htsim's.

_UEC = _UET | of("Uet", ack_every_bytes=16 * 1024, timeout_ps=0) | of("PathChoice", values=256, choice="mixed") | of(
    "UetQueue", limit=1.0, low=0.2, high=0.8, tail_probability=0.5
) | of("Queueing", control_limit_bytes=Scaled(150_000, rate="100Gbps", rtt="12us"))  # fmt: skip
_UEC_NSCC = of(
    "Nscc", target=0.75, largest_window=1.5, proportional=4.0, fair=5.0, steady=0.15, gamma=0.8, fast=0.25,
    adjust_packets=8, quick_share=1 / 2**3, quick_delay=1e6, gain=0.0125,
)  # fmt: skip
_UEC_CREDIT = of("UetQueue", marks_last_hop=False) | of(
    "ReceiverCredit",
    unit_bytes=256,
    units_per_pull=64,
    rate=0.99,
    largest=1.5,
    oversubscription=1.0,
    divides_request=True,
)
UEC = {
    "nscc": _UEC | _UEC_NSCC | of("UetQueue", marks_last_hop=True),
    "rccc": _UEC | _UEC_CREDIT,
    "nscc-rccc": _UEC | _UEC_NSCC | _UEC_CREDIT | of("Nscc", spares_last_hop=True),
}

# csg-htsim: main_eqds.cpp, eqds.cpp, eqdspacket.h.

EQDS = _UET | of(
    "ReceiverCredit", unit_bytes=512, units_per_pull=8, rate=8 * 512 / (0.99 * (4160 + 38)), largest_bytes=207_500,
    counts_at_receiver=True, divides_request=False,
) | of("Uet", timeout_ps=219_720_000) | of("PathChoice", choice="bitmap", trim_penalty=1, timeout_penalty=0) | of(
    "UetQueue", limit_bytes=35 * 4150, low=1e6, high=1e6
)  # fmt: skip

# ns3-datacenter: rdma-hw.cc, config-burst.txt; 150 Mb/s at 25 Gb/s.

_POWER = of("Scheme", payload_bytes=1000, base_rtt="network")
_POWER_STEP = {"additive_share": 0.006, "least_current": 0.5, "from_reference": True}
POWERTCP = {
    "powertcp": _POWER | of("PowerTcp", eta=0.95, **_POWER_STEP),
    "theta-powertcp": _POWER | of("ThetaPowerTcp", gamma=0.7, margin=1.05, every_ack=True, **_POWER_STEP),
}

# Zhu et al., SIGCOMM 2015: sections 3.1 and 5, figures 5 and 7. Mittal et al., SIGCOMM 2015: sections 4.3, 4.4 and 5.
# Mittal et al., SIGCOMM 2018. Gran et al., IPDPS 2010.

DCQCN = of(
    "Dcqcn", g=1 / 256, cnp_interval_ps=us(50), alpha_period_ps=us(55), increase_period_ps=us(55),
    byte_counter_bytes=10_000_000, fast_recovery_steps=5, additive_bps=40e6, hyper_bps=400e6, reference_bps=0,
    clamp_target=True,
) | of("Red", kmin_bytes=5_000, kmax_bytes=200_000, pmax=0.01)  # fmt: skip
TIMELY = of(
    "Timely", t_low_ps=us(50), t_high_ps=us(500), min_rtt_ps=us(20), beta=0.8, additive_bps=10e6, hyper_after=5,
    segment_bytes=16_000,
)  # fmt: skip
IRN = of("Irn", bdp_cap_packets=120, rto_low_ps=us(100), rto_high_ps=us(320), few_packets=3)
INFINIBAND = of("InfinibandCc", increase=1, limit=127, least=0, timer_ps=153_600_000) | of(
    "Fecn", threshold=15, marking_rate=0, packet_size=8
)


PUBLISHED: dict[str, dict[str, Values]] = {
    "igbn-2019": IGBN,
    "dart-2020": DART,
    "rcc-2021": RCC,
    "ren-2021": REN,
    "ren-2021-testbed": REN_TESTBED,
    "hpcc-ns3": HPCC,
    "homa-2018": {"homa": HOMA},
    "homa-ns3": {"homa": HOMA_NS3},
    "ndp-2017": {"ndp": _ndp(9000), "ndp-1500": _ndp(1500)},
    "ndp-htsim": {f"ndp-{mtu}": _ndp_htsim(mtu, window) for mtu, window in ((9000, 23), (4000, 50), (1500, 30))},
    "roce-htsim": {f"roce-{mtu}": _roce(mtu) for mtu in (9000, 1500)},
    "phost-2015": {"phost": PHOST},
    "phost-yaps": {"phost": PHOST_YAPS},
    "expresspass-2017": XPASS,
    "uec-1.0": UEC,
    "uet-htsim": UET,
    "eqds-htsim": {"eqds": EQDS},
    "powertcp-ns3": POWERTCP,
    "dcqcn-2015": {"dcqcn": DCQCN},
    "timely-2015": {"timely": TIMELY},
    "irn-2018": {"irn": IRN},
    "infiniband-2010": {"infiniband-cc": INFINIBAND},
}
"""Every setting of every scheme, by preset."""
RATES_BPS = {"rcc-2021": 100e9, "hpcc-ns3": 100e9, "ndp-htsim": 100e9, "roce-htsim": 100e9, "phost-yaps": 100e9,
             "uec-1.0": 100e9, "uet-htsim": 100e9, "eqds-htsim": 100e9, "ren-2021": 40e9, "igbn-2019": 40e9,
             "powertcp-ns3": 25e9, "dcqcn-2015": 40e9, "irn-2018": 40e9, "infiniband-2010": 16e9}  # fmt: skip
"""Of the hosts' links; 10 Gb/s in the others."""

_AT_NIC_STEP = of("EcnStep", reference_bps=10e9, at_nic=True)
_GRANTED = _packets(1460, 40, 40, routing="spray-random") | of(
    "DropTail", limit_bytes=Scaled(128_000, rate="40Gbps", least=128_000)
)
_PATIENT = of("GrantClock", least_timeout_ps=Scaled(us(50), rate="40Gbps", least=us(50), is_time=True))
_SPRAYED = of("Scheme", routing="spray-random", nic_order="srpt")
_DEFLECTION = of("FlowDeflection", threshold_bytes=Scaled(15_000, rate="10Gbps"))


def _waits(value: int) -> Scaled:
    return Scaled(value, rtt=value // 3, least=value)  # RFC 6298, 2.2: a first timeout of three round trips


REGISTERED: dict[str, Values] = {
    "dcqcn-hpcc": of("Red", kmin_bytes=100_000, kmax_bytes=400_000, pmax=0.2, reference_bps=25e9, at_dequeue=True),
    "timely-patched": of("Timely", is_patched=True, beta=0.008),
    "hpcc": of("Scheme", ack_bytes=14 + 20 + 12 + 42, ack_priority=DATA_CLASS),
    "dctcp": of("EcnStep", kmin_bytes=Scaled(22_500, rtt="60us", least=3_000), reference_bps=10e9)
    | of("Scheme", start_delay_ps=0, payload_bytes=1460, header_bytes=18 + 20 + 20),
    "dctcp-hpcc": of("EcnStep", kmin_bytes=30_000, reference_bps=10e9, at_dequeue=True)
    | of("Scheme", ack_priority=DATA_CLASS),
    "swift": of("NewReno", min_timeout_ps=ms(1)),
    "eqds": of("ReceiverCredit", largest_bytes=Scaled(207_500, rate="100Gbps", rtt="14us", least=207_500))
    | of("Uet", timeout_ps=_waits(219_720_000)),
    "ndp": of("Ndp", timeout_ps=_waits(ms(1)), pull_timeout_ps=_waits(ms(10)))
    | of("Ndp", initial_window=Scaled(150, rate="100Gbps", rtt="12us", payload="1kB", least=30)),
    "dasr": _AT_NIC_STEP | of("Dasr", look_ahead=True),
    "dasr-no-look-ahead": _AT_NIC_STEP | of("Dasr", look_ahead=False),
    "iofd": _AT_NIC_STEP | _DEFLECTION | of("Queueing", lanes=1 + 4),
    "dart": _AT_NIC_STEP | _DEFLECTION | of("Queueing", lanes=1 + 4) | of("Dasr", look_ahead=True),
    "ren": _GRANTED | _PATIENT,
    "amrt": _GRANTED | _PATIENT,
    "polo": _GRANTED | of("EcnStep", kmin_bytes=Scaled(6_000, rate="40Gbps", rtt="8.4us", least=6_000)),
    "rcc-ewa": of("Rcc", law="explicit"),
    "rcc-pid": of("Rcc", law="pid"),
    "rcc-async": of("Rcc", jitter_ps=ns(500)),
    "expresspass": _packets(1460, 78, 84, least_wire_bytes=84, routing="symmetric", ack_priority=DATA_CLASS)
    | of("DropTail", limit_bytes=250 * 1538) | of("Queueing", credit_fraction=84 / (84 + 1538)),
    "expresspass-aeolus": of("SelectiveDrop", threshold_bytes=4 * 1538),
    "homa": _SPRAYED,
    "homa-aeolus": _SPRAYED,
}  # fmt: skip
"""Values that registered schemes set in place of components' defaults: from papers and public simulators."""
