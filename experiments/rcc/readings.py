"""RCC: what the paper leaves open, and the answers that are simulated."""

from __future__ import annotations

from ..api import *

from rdmacc.experiments.rcc.incast import TOGETHER

_SUGGESTED = "For other schemes, we use the parameters suggested in the corresponding papers."

QUESTIONS = register(
    "rcc",
    Question(
        title="Whose DCQCN, and which timers?",
        place="V-A",
        sentence="We use the open-source code of DCQCN [17], Homa [45] and HPCC in our evaluation with η = 0.95 and"
        " maxStage = 5 for HPCC.",
        readings=(
            Reading(
                name="DCQCN with CNPs",
                answer="As in the code of [17], ns3-rdma: the receiver answers marks with CNPs.",
                evidence="The sentence names this code. DCQCN then approaches its shares as slowly as the paper says"
                " (rcc-f1-1), and RCC's average is 26 to 38% lower under web search (published: 30% at most; rcc-f9-1)"
                " and 16 to 25% under data mining (18%; rcc-f9-2).",
            ),
            Reading(
                name="DCQCN of HPCC's simulator",
                answer="As in HPCC's simulator: ACKs echo marks, and a sender cuts its rate every 4 us at most.",
                evidence="The paper runs HPCC's code, and scales ECN thresholds as HPCC's paper suggests (V-A). Against"
                " it: RCC's average under web search is only 4 to 12% lower, and rcc-x-2 and rcc-f1-1 have only the"
                " right sign.",
            ),
            Reading(
                name="DCQCN of HPCC's simulator, own timers",
                answer="HPCC's simulator with the timers of DCQCN's own paper, which recovers from a cut six times as"
                " fast.",
                evidence=f"\"{_SUGGESTED}\" But then DCQCN's average is below RCC's (rcc-b-2a fails).",
            ),
        ),
        why="The text cites the code.",
    ),
    Question(
        title="Which parameters does TIMELY have?",
        place="V-A",
        sentence=_SUGGESTED,
        readings=(
            Reading(
                name="TIMELY of its paper",
                answer="Steps of 10 Mb/s and beta = 0.8, although they were chosen for links of 10 Gb/s.",
                evidence="The letter of the sentence. RCC's average is lower by 61 to 64% (published: 45% at most;"
                " rcc-f9-1).",
            ),
            Reading(
                name="TIMELY of HPCC's simulator",
                answer="Steps scaled to the link.",
                evidence="RCC's average is lower by 9% at a load of 50% (rcc-b-2a). The published number is between"
                " the two.",
            ),
        ),
        why="By the text.",
    ),
    Question(
        title="At which rate do ExpressPass's credits start?",
        place="V-A",
        sentence=_SUGGESTED,
        readings=(
            Reading(
                name="first rate 1/16",
                answer="Credits begin at a sixteenth of the link.",
                evidence="ExpressPass's paper uses it for workloads like these (its section 6). RCC's average is lower"
                " by 23 to 26% (published: 11% at most; rcc-f9-1).",
            ),
            Reading(
                name="first rate 1/2",
                answer="Credits begin at half of the link.",
                evidence="ExpressPass's paper has rates from 1/2 to 1/32 (its section 5). At a load of 50% RCC's"
                " average is lower by 20% instead of 23%, which changes no verdict.",
            ),
        ),
        why="By the text of ExpressPass's paper.",
    ),
    Question(
        title="How does Homa spread its packets over the core?",
        place="V-D-2",
        sentence="... while the core packet spraying scheme used in Homa may encounter various issues.",
        readings=(
            Reading(
                name="spraying",
                answer="Each packet takes a random path.",
                evidence="The letter of the sentence, and of Homa's paper. Homa is ahead of RCC (rcc-f9-4 fails).",
            ),
            Reading(
                name="ECMP",
                answer="Each message takes one path.",
                evidence="Homa's average is then 6% higher (rcc-b-1a), which does not put it behind RCC.",
            ),
        ),
        why="By the text.",
    ),
    Question(
        title="What are Homa's RTTbytes?",
        place="V-A",
        sentence="We use the open-source code of DCQCN [17], Homa [45] and HPCC in our evaluation ...",
        readings=(
            Reading(
                name="RTTbytes of 150 kB",
                answer="A BDP of 12 us at 100 Gb/s.",
                evidence="Homa's paper sets RTTbytes to those of a round trip (its section 3.2). Against it: Homa's"
                " average is 42% below RCC's (published: RCC's is up to 11% below Homa's; rcc-b-4a).",
            ),
            Reading(
                name="RTTbytes of 9.7 kB",
                answer="As in the code of [45], a simulation of links of 10 Gb/s in OMNeT++, not scaled.",
                evidence="The letter: that code, with its own parameter. Against it: messages wait for grants most of"
                " the time, and RCC's average is 76% lower (rcc-b-4a).",
            ),
            Reading(
                name="RTTbytes of 60 kB",
                answer="Less than a BDP: messages stall for grants.",
                evidence="Nothing in the text suggests it; it shows how the average depends on RTTbytes. Homa's is 13%"
                " below RCC's, so the published gain of 11% needs RTTbytes between 9.7 and 60 kB.",
            ),
            Reading(
                name="RTTbytes of 75 kB",
                answer="A BDP of the one-way delay of 6 us.",
                evidence="The paper calls 12 us a one-way delay (III-C), so half of it may have been meant. Homa's"
                " average is 24% below RCC's.",
            ),
            Reading(
                name="RTTbytes of 97 kB",
                answer="As in the code of [45], times the ratio of the links.",
                evidence="9.7 kB at 10 Gb/s are 97 kB at 100 Gb/s. Homa's average is 31% below RCC's.",
            ),
        ),
        why="By Homa's paper.",
    ),
    Question(
        title="Does a NIC under Homa send the shortest message first?",
        place="V-D-2",
        sentence="For short flows, though under which Homa is proved to be highly effective, RCC performs better than"
        " it and HPCC ...",
        readings=(
            Reading(
                name="NICs with SRPT",
                answer="Yes.",
                evidence="Homa's paper, section 3.2.",
            ),
            Reading(
                name="NICs without SRPT",
                answer="No: messages of a host take turns, as queue pairs of a NIC do.",
                evidence="The other schemes have such NICs; RDMA hardware does not know message lengths. Homa's average"
                " is 30% below RCC's: SRPT at the NIC is not why Homa leads.",
            ),
        ),
        why="By Homa's paper.",
    ),
    Question(
        title="What are n consecutive samples?",
        place="III-C",
        sentence="Enlightened by the fast recovery mechanism in TCP, we use n consecutive RTT_i(t) values to infer"
        " whether network congestion happens or not.",
        readings=(
            Reading(
                name="n = 3",
                answer="The samples of three packets in a row.",
                evidence='"Upon receiving a packet, a receiver can obtain the real-time one-way delay" (III-C); n = 3'
                " (III-F). But up to half of the long flows are misjudged where the network has no congestion (rcc-v-1a"
                " fails), so RCC is behind RCC-EWA (rcc-f13-1 fails).",
            ),
            Reading(
                name="n = 100",
                answer="The samples of a hundred packets in a row, about two thirds of a round trip.",
                evidence="Hardly any flow is misjudged (rcc-v-1a, rcc-v-4a), and RCC's average is 6% lower (rcc-b-3a)."
                " The number is nowhere in the paper.",
            ),
            Reading(
                name="n = 3 round trips",
                answer="Three samples, one in each base RTT.",
                evidence="Table I has an RTT update timer. Hardly any flow is misjudged (rcc-v-1a, rcc-v-4a).",
            ),
        ),
        why="By the text: each packet gives a sample.",
    ),
    Question(
        title="Does the control factor accumulate?",
        place="III-E, equation (4)",
        sentence="u_i(t) = u_i(t-1) + K_p × e_i(t) + K_d × (e_i(t) - e_i(t-1))",
        readings=(
            Reading(
                name="without u(t - 1)",
                answer="u is the sum of the other two terms.",
                evidence="Table I has no room for u (rcc-t1-1a), and 2 to 16 flows get equal shares (rcc-x-3,"
                " rcc-x-3a). With the default gains the queue swings (rcc-m-4c).",
            ),
            Reading(
                name="equation (4) as printed",
                answer="u adds up over the life of a flow.",
                evidence="The letter of (4), and section IV analyses it. But four flows or more drift apart or fill the"
                " queue (rcc-x-3, rcc-x-3a). At 320 hosts RCC's average is the same within 1% (rcc-b-3a).",
                against='III-E says of (4): "the parameter of integral term K_i is set to 0". With u(t - 1) the terms'
                " K_p e(t) add up, which is an integral. Table I has no room for u, and the flows do not come to the"
                " unique fixed point with equal windows that section IV derives.",
            ),
        ),
        why="III-E says that the controller has no integral term, and that the proportional term is instantaneous. The"
        " paper's table I, and its claim of equal windows at a unique fixed point, rule out the other answer, too.",
        chosen=Chosen.BY_TEXT,
    ),
    Question(
        title="How often does the PID update a window?",
        place="III-F, table I",
        sentence="update_timer | RTT Update Timer | 4",
        readings=(
            Reading(
                name="in each base RTT",
                answer="Once per base RTT.",
                evidence="Table I keeps the base RTT of a flow, and a timer (rcc-x-3).",
            ),
            Reading(
                name="in each RTT",
                answer="Once per current RTT.",
                evidence="Equations (6) and (9) divide by the current RTT. It makes no difference to rcc-x-3 and"
                " rcc-x-3a.",
            ),
        ),
        why="Table I lists what an implementation has; section IV is a model of it.",
    ),
    Question(
        title="Are delays round trips or one-way?",
        place="III-C",
        sentence="Let RTT_i^base and RTT_i(t) represent the base and measured one-way delay of connection i,"
        " respectively.",
        readings=(
            Reading(
                name="round trips",
                answer="A sample is the measured one-way delay plus the way back through an empty network.",
                evidence="12 us and 13.2 us (V-A) are round trips of six links of 1 us.",
            ),
            Reading(
                name="one-way delays",
                answer="Base and target are 6 us and 6.6 us, so the target queue is half as long.",
                evidence="The letter of the sentence. The queue is shorter, but not by half (rcc-x-3b).",
            ),
        ),
        why="By the numbers of V-A.",
    ),
    Question(
        title="Does each path have its own base RTT?",
        place="V-A",
        sentence="The delay of each link is set to 1μs, which gives a 12μs base RTT.",
        readings=(
            Reading(
                name="base RTT of each path",
                answer="4 us below one ToR, 12 us across the core.",
                evidence="Equations (1) and (2) have a base RTT for each connection i.",
            ),
            Reading(
                name="12 us for all paths",
                answer="All connections have the base RTT of the longest path.",
                evidence="V-A gives one number, and one target of 13.2 us. RCC's average is 3% higher (rcc-b-3a).",
            ),
        ),
        why="By the index i in the equations.",
    ),
    Question(
        title="How much of the last hop do the shares hand out?",
        place="III-D",
        sentence="A receiver computes the congestion window for each connection i, W(i) = C/N.",
        readings=(
            Reading(
                name="all of the link",
                answer="Shares add up to the link.",
                evidence="The letter of the sentence. Headers leave 95.4 of 100 Gb/s, near the 100 × 0.95 of V-B-1"
                " (rcc-f5-1). But the queue of an incast never drains (rcc-f7-1).",
            ),
            Reading(
                name="99% of the link",
                answer="Shares add up to 99% of it.",
                evidence="The queue of a long incast is empty in the steady phase, as published (rcc-f7-1a). The number"
                " is nowhere in the paper.",
                against="III-D hands out C/N: all of the link.",
            ),
            Reading(
                name="95% of the link",
                answer="Shares add up to η = 0.95 of it, the expected utilisation of the last hop (III-C).",
                evidence="RCC's average at 320 hosts is 4% higher (rcc-b-3a).",
            ),
        ),
        why="By the text.",
    ),
    Question(
        title="Does a window under the PID have a minimum?",
        place="III-E, equation (5)",
        sentence="W_i(t) = W_i(t-1) × (1 - tanh(u_i(t)))",
        readings=(
            Reading(
                name="a floor",
                answer="A packet, or the fair share if that is less.",
                evidence="Our addition: without it a window may fall to next to nothing.",
            ),
            Reading(
                name="no floor",
                answer="None.",
                evidence="No equation of the paper has one.",
            ),
        ),
        why="The long runs use it; without it the average at 320 hosts is the same (rcc-b-3a).",
    ),
    Question(
        title="What is the first window of a flow that the receiver requests?",
        place="III-B",
        sentence="Each flow starts at line rate like other RDMA congestion control mechanisms [3], [4], [8].",
        readings=(
            Reading(
                name="line rate",
                answer="A BDP.",
                evidence="The letter of the sentence. But in an incast of 1,000 the first windows are 150 MB, and the"
                " queue's peak is a hundred times that of figure 7 (rcc-f7-2a).",
            ),
            Reading(
                name="share in the request",
                answer="The share, carried by the request.",
                evidence='In the incast a receiver "requests 200KB data from each sender simultaneously" (V-B-2). The'
                " queue then peaks at 1.7 MB (rcc-f7-2a), but the median FCT is no lower than HPCC's (rcc-f6-2).",
            ),
        ),
        why="By the text.",
    ),
    Question(
        title="Which RCC do the incasts of figures 6, 7 and 12 run?",
        place="V-B-3",
        sentence="RCC keeps near-zero queuing length since it explicitly assigns window size and combines per-ACK"
        " feedback and packet pacing.",
        readings=(
            Reading(
                name="the same RCC",
                answer="That of all other figures: all of the link from line rate, a floor under the PID, jitter of 0.5"
                " us.",
                evidence="The letter of III-B and III-D; clocks are within a few hundred ns (III-G). The median and the"
                " 99th percentile of the completion times are below HPCC's by about as much as published (rcc-f6-2,"
                " rcc-f6-3). But the queue never drains (rcc-f7-1), so algorithm 1 never looks at a sample, and jitter"
                " and n have no effect (rcc-f12-1 to rcc-f12-4).",
            ),
            Reading(
                name=TOGETHER,
                answer="The share in the request, 99% of the link, jitter of 3 us, and no minimum of a window under the"
                " PID.",
                evidence="No equation has a minimum window. A receiver that requests the data can send the share along"
                " (V-B-2). The published 94.98 Gb/s are less than the 95.42 that the link carries. Shares that add up"
                " to all of the link drain no queue and keep the last hop busy: algorithm 1 (line 10) would then look"
                ' at no sample, and jitter could not "lead to a deterioration" (V-E-1). RCC-async stands for clocks'
                " without synchronisation, and samples are late from 2.4 us on. Against it: 99% and 3 us are nowhere in"
                " the paper, and we chose both with figures 7 and 12 in sight; no other figure runs it; the median FCT"
                " is no lower than HPCC's (rcc-f6-2).",
                against="III-D hands out C/N, all of the link, and III-G has clocks within a few hundred ns.",
                is_setup=True,
            ),
        ),
        why="The text describes one RCC, and gives the start, the shares and the precision of the clocks. That V-B-3"
        " and V-E-1 then do not come out is a result.",
        chosen=Chosen.BY_TEXT,
    ),
)
