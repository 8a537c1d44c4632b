"""Switch features: what a port does to the packets that pass it, and how a switch shares its buffer.

=================  ===========================================================================================
module             feature
=================  ===========================================================================================
`buffer`           shared buffers: PFC (lossless) or drop-tail (lossy)
`admission`        the rules: who gets a place in the buffer
`pfc`              the rules: when to pause a neighbour and when to let it resume
`queueing`         strict priorities, weighted round robin, rate-limited credits, trimming to the header
`classes`          the rules: which class goes next
`credits`          the rules: when the next credit may go
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
