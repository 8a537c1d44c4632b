"""Switch features: processing of packets at ports, and sharing of a switch's buffer (`rdmacc.rules` applies them).

=================  ===========================================================================================
module             feature
=================  ===========================================================================================
`buffer`           shared buffers: PFC (lossless) or drop-tail (lossy)
`queueing`         strict priorities, weighted round robin, rate-limited credits, trimming to the header
`red`              ECN by a step or a RED ramp
`trimming`         NDP's payload trimming
`selective_drop`   Aeolus' dropping of unscheduled packets
`int_stamp`        in-band telemetry, as HPCC reads it
`rcp_stamp`        RCP's fair rate of each link
`fecn`             InfiniBand's forward congestion notification
`ren_marker`       REN's marks of under- and over-utilisation
`anti_ecn`         AMRT's bit for room on every link
`deflection`       Dart's in-order flow deflection
=================  ===========================================================================================
"""
