"""REN: the questions that the paper leaves open, and the evidence for each answer.

A figure whose table also has runs of other readings is a `rdmacc.experiments.ren.setup.ReadingFigure`. On the
leaf-spine networks, `rdmacc.experiments.ren.sensitivity` varies the readings at one point.
"""

from __future__ import annotations

from ..api import *

QUESTIONS = register(
    "ren",
    Question(
        title="How many packets does a port mark at the end of a period?",
        place="3.2.3",
        sentence="If ql is larger than ti, ql - ti packets are marked as over-utilization. Otherwise, ti - ql packets"
        " are marked as under-utilization.",
        readings=(
            Reading(
                name="outstanding",
                answer="ql - ti or ti - ql, less the marks of that kind that it made during the last round trip.",
                evidence="Both worked examples come out as drawn (ren-f5-1, ren-f6-1), and the queue of figure 3 drains"
                " within three round trips at full use of the link (ren-f3a-4, ren-f3-b).",
            ),
            Reading(
                name="packet",
                answer="The same, computed for each packet as it leaves: figure 7 and the text beside it compare the"
                " gaps of single packets.",
                evidence="Figure 3's queue drains a little sooner (ren-f3-c), and the sampling period no longer matters"
                " (ren-f22-1 holds, ren-f22-2 does not). The worked examples come out otherwise: one packet stays in"
                " the queue of figure 5, and figure 6 settles at four packets (ren-f5-1, ren-f6-1).",
            ),
            Reading(
                name="literal",
                answer="ql - ti or ti - ql, whatever was marked before.",
                evidence="The sentence itself. But marks take a round trip to show, so the same queue is marked twice"
                " (ren-f5-a) and the same gap filled twice (ren-f6-a). One bottleneck is left at 88% use (ren-f3-b),"
                " and if a sender's last packet may be cancelled, flows never end (ren-x-1a).",
            ),
        ),
        why="3.2.1 and 3.2.2 say that the queue is gone, and the link full, in the next round. Of the three readings"
        " the first alone does both.",
    ),
    Question(
        title="May a grant cancel the last packet that a sender has in flight?",
        place="3.1",
        sentence="Specifically, if receiving one grant packet with over-utilization notification, to mitigate the queue"
        " buildup, the sender does not send out a new data packet.",
        readings=(
            Reading(
                name="one kept",
                answer="No: a sender whose last packet was marked sends one all the same.",
                evidence="Without a packet in flight no grant comes back, and the paper has no other way to go on. The"
                " price is a queue where many flows share a link: 53 packets with 80 flows (ren-f20-2).",
            ),
            Reading(
                name="none kept",
                answer="Yes; such a sender waits for its timer of 1 ms and sends one packet.",
                evidence="3.1 as it stands. Figure 20 comes out as published: the link is full, and one packet waits"
                " (ren-f20-a). With marks to the letter, flows die (ren-x-1a).",
            ),
        ),
        why="The paper's flows end, and it does not mention the timer that the other answer needs.",
    ),
    Question(
        title="What are pHost and Homa?",
        place="2.1",
        sentence="The receiver-driven sender transmits only one data packet once receiving a grant packet from the"
        " receiver.",
        readings=(
            Reading(
                name="own papers",
                answer="The protocols of their own papers: receivers pace tokens or grants at the rate of their links,"
                " and prefer the shortest message.",
                evidence="pHost then loses no bandwidth with its packets (ren-f3b-1, ren-f11b-1), and both have"
                " shorter completion times than REN in most of figures 14 to 18.",
            ),
            Reading(
                name="one grant",
                answer="What section 2 describes: each packet that arrives makes the receiver send one grant, and a"
                " lost packet's grant is gone.",
                evidence="Figures 3 and 11 come out as published (ren-f3-a; ren-f3b-1 and ren-f11b-1 hold). REN's marks"
                " then save timeouts (ren-f12-a), but not time for all flows at scale (ren-x-1c). In figures 14 to 18"
                " REN has the lowest AFCT of short flows at 9 of 28 loads instead of 1 (ren-f15-1), and in the tail of"
                " data mining it gains over all six, 1 to 94% (ren-f15b-1); its long flows are still up to 7% slower"
                " than theirs (ren-f15c-1). In figure 19 all flows gain 4% over both,"
                " and nothing over NDP (ren-f19-1).",
            ),
        ),
        why="2.3 names the protocols and refers to their papers. The sentence describes the principle, and leaves out"
        " what both do about lost packets and the order of messages.",
    ),
    Question(
        title="Of whose links is the load a fraction?",
        place="6",
        sentence="We simulate seven traffic loads ranging from 0.1 to 0.7.",
        readings=(
            Reading(
                name="core links",
                answer="Of the links between ToR and core switches.",
                evidence="At an oversubscription of 6 these are the bottleneck, and every load up to 0.7 can last.",
            ),
            Reading(
                name="host links",
                answer="Of the hosts' links: at 0.7 the core is offered 3.7 times what it carries, and drains"
                " afterwards.",
                evidence="Completion times are those of a backlog. REN's short flows have the lowest AFCT at 18 of 28"
                " loads (ren-f15-1), and their tail is the shortest at most loads of three workloads (ren-f15b-2). All"
                " flows gain over Homa, Aeolus, NDP and ExpressPass in web search and cache follower, but not over"
                " DCTCP and pHost (ren-f16d-1, ren-f18d-1). Against it: NDP's long flows starve, so that ExpressPass's"
                " are nearly twice as fast, where the paper has them slower (ren-f15c-3).",
            ),
            Reading(
                name="host links, one grant",
                answer="Of the hosts' links; and pHost and Homa are what section 2 describes.",
                evidence="REN's short flows have the lowest AFCT at 26 of 28 loads,"
                " NDP's at the other two (ren-f15-1), and REN has the lowest slowdown in 36 of the 40"
                " tenths of figure 14 (ren-f14-3 holds). In data mining at 0.7 the tail of short flows is 40 to 93%"
                " shorter than under the other six (ren-f15b-1 holds). In web search all flows gain 30% over pHost and"
                " Homa and lose 3% to DCTCP, which the judge accepts (ren-f16d-1). Against it: ExpressPass's long flows"
                " are faster than NDP's (ren-f15c-3); in data mining REN's AFCT of all flows is never the lowest"
                " (ren-f15d-3); in cache follower all flows gain 4% over pHost and Homa, where the paper has 43 and"
                " 30%, and lose 8% to DCTCP (ren-f18d-1).",
                is_setup=True,
            ),
        ),
        why="The text does not say. The plainest meaning of a load below 1 is one that the network can carry, which at"
        " an oversubscription of 6 is a fraction of the core's links. The hosts' links with one grant for each packet"
        " are probably what the paper ran; but the text refers to pHost's and Homa's own papers, so they have a row of"
        " their own in the score. Figure 19 does not tell the two loads apart: its core has as much capacity as its"
        " hosts. All flows gain at most 15% over pHost and 61% over Homa under the hosts' load (one seed), 11 and 64%"
        " under the core's, and nothing over NDP under either (ren-f19-1).",
    ),
    Question(
        title="Whose are the 128 KB of buffer?",
        place="6",
        sentence="The packet size and switch buffer size are 1.5KB and 128KB, respectively.",
        readings=(
            Reading(
                name="port buffer",
                answer="Each port's.",
                evidence="NS2, with which section 6 simulates, has a queue for each link.",
            ),
            Reading(
                name="switch buffer",
                answer="A whole switch's: 2.3 KB for each of its 56 ports.",
                evidence="Packets are lost, and the timers of the others decide: REN's AFCT is 42% below pHost's and"
                " 92% below Homa's, and 22% above NDP's (ren-x-4b). REN's short flows have the lowest AFCT at 5 of 28"
                " loads (ren-f15-1). In figure 12 nothing changes, as one port is the bottleneck. In figure 21 REN"
                " stays within 0.1 points of the best other (ren-f21-1), and Homa uses 42 to 44% of the link instead"
                " of 48 to 50%. In figure 19 all flows gain up to 93% over Homa, 12% over pHost and nothing over NDP"
                " (ren-f19-1).",
            ),
        ),
        why="The word is switch, but the simulator's queues belong to links, and a port with less than two packets of"
        " buffer would make NDP's limit of eight packets meaningless.",
    ),
    Question(
        title="Which schemes keep a flow on one path?",
        place="6.1",
        sentence="Since ExpressPass uses per-flow ECMP to ensure in-order transmssion, the link utilization is degraded"
        " compared with NDP and REN, which use per-packet loader balancing.",
        readings=(
            Reading(
                name="own paths",
                answer="ExpressPass and DCTCP. pHost, Homa and Aeolus spray packets, as in their own papers.",
                evidence="ExpressPass's long flows have 68% of the throughput of REN's and NDP's (ren-f15c-3).",
            ),
            Reading(
                name="ECMP",
                answer="pHost, Homa and Aeolus, too. REN and NDP spray packets.",
                evidence="REN's short flows have the lowest AFCT at 11 of 28 loads, NDP's at 15 (ren-f15-1), and"
                " from 0.5 on REN's long flows are faster than pHost's and Homa's (ren-f15c-1 holds). Against it: the"
                " gains are larger than published. Queues form where spraying has none, and packets are lost: in"
                " cache follower REN's AFCT is 55% below pHost's and 90% below Homa's, where the paper has 43 and 30%"
                " (ren-f18d-1). In figure 19 all flows gain up to 25% over pHost and 73% over Homa (ren-f19-1). With"
                " REN on one path, too, its AFCT is 13% above pHost's (ren-x-4a).",
            ),
        ),
        why="The sentence names three schemes. For the others we take what their authors say: they spray.",
    ),
    Question(
        title="After what time is a lost packet made good?",
        place="5.2",
        sentence="However, pHost and Homa suffer from persistent queue backlog, which results in a higher probability"
        " of tail packet loss and timeout.",
        readings=(
            Reading(
                name="timers 1 ms",
                answer="After 1 ms in pHost, Homa, Aeolus and NDP; after three base RTTs in REN.",
                evidence="Homa's paper speaks of a few milliseconds. REN's paper has no timer at all.",
            ),
            Reading(
                name="timers 0.1 ms",
                answer="After 0.1 ms in the others.",
                evidence="Homa is further ahead: REN's AFCT is 33% above its own (ren-x-4a).",
            ),
            Reading(
                name="timers 10 ms",
                answer="After 10 ms in the others.",
                evidence="REN's AFCT is 63% below Homa's, which is near the headline (ren-x-4a); pHost and NDP do not"
                " change.",
            ),
            Reading(
                name="REN timer 0.1 ms",
                answer="After 0.1 ms in REN, too.",
                evidence="A round trip through a full buffer takes 37 us, REN's timer 30 to 50 us. No verdict on"
                " figures 21 and 22 changes (ren-f21-a).",
            ),
            Reading(
                name="REN timer 1 ms",
                answer="After 1 ms in REN, too.",
                evidence="REN loses next to nothing at this load, so nothing changes (ren-x-4a).",
            ),
        ),
        why="The paper does not say. Homa's authors speak of a few milliseconds, of which 1 ms favours REN least.",
    ),
)
