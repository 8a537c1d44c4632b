"""Adds to each page of the scheme guide what all have: its papers, a picture, code to try, and its family."""

import re
from pathlib import Path
from urllib.parse import urlencode

import matplotlib.pyplot as plt
from sphinx.application import Sphinx

import rdmacc
from rdmacc.results.citations import COMPONENTS, PAPERS, Paper
from rdmacc.show.png import png

GUIDE = Path(__file__).parent / "schemes"
PICTURES = GUIDE.parent / "_static" / "schemes"
FAMILIES = {
    "schemes that react to marks": "dcqcn dcqcn_hpcc pri_q dctcp dctcp_hpcc polo infiniband_cc",
    "schemes that react to delay": "timely swift powertcp",
    "schemes that switches tell what to do": "hpcc powertcp rcp amrt ren iofd",
    "schemes in which receivers decide": "homa aeolus ndp expresspass phost ren rcc dasr amrt eqds uet",
    "schemes for losses": "line_rate go_back_n irn ndp",
}
"""Pages by family, in the order in which to read them."""
TRIAL = """import rdmacc

network = rdmacc.star(9)
work = rdmacc.incast(8, "h0", "1MB", hosts=network)
watched = [rdmacc.probes.queue("s0", "h0")]
result = rdmacc.simulate(network, work, "{}", probes=watched)
result.plot.queues()
"""


def pages() -> dict[str, tuple[str, list[str]]]:
    """Return the title and the schemes of each page, from the table of the guide."""
    rows = re.findall(r"^\| \[(.+?)\]\((\w+)\.md\) \| (.+?) \|", (GUIDE / "README.md").read_text(), re.MULTILINE)
    return {page: (title, re.findall(r"`(.+?)`", names)) for title, page, names in rows}


def complete(_: Sphinx, docname: str, source: list[str]) -> None:
    """Add the parts to a page that Sphinx has read."""
    page = docname.removeprefix("schemes/")
    if page not in pages():
        return
    schemes, (title, _, body) = pages()[page][1], source[0].partition("\n")
    source[0] = "\n".join(
        [
            title, "", *_origin(page, schemes),
            f"![The queue in front of the receiver](../_static/schemes/{page}.png)", "",
            f"*Eight messages of 1 MB to one host at 100 Gb/s: the queue in front of it, under `{schemes[0]}` and where"
            " nobody slows down.*", "", _named(body),
            "## Try it", "", "```python", TRIAL.format(schemes[0]) + "```", "", "## Next", "", *_relatives(page),
        ]
    )  # fmt: skip


def _named(body: str) -> str:
    """Return a page whose tables name the paper of each section, equation, figure and table."""

    def whole(found: re.Match[str]) -> str:
        keys = COMPONENTS.get(found[2], ())
        return f"{found[1]}{_short(PAPERS[keys[0]])}, {found[3]}" if keys else found[0]

    return re.sub(
        r"^(\| `(\w+)\..*\| )((?:[Ss]ection|[Ee]quation|[Aa]lgorithm|[Ff]igure|[Tt]able) .*?\|)",
        whole,
        body,
        flags=re.M,
    )


def _short(paper: Paper) -> str:
    return f"{re.split(' et al|,', paper.authors)[0]} {paper.year}"


def _origin(page: str, schemes: list[str]) -> list[str]:
    """Return a sentence that names the papers of a page's schemes, its own first."""
    parts = [part for name in schemes for part in rdmacc.scheme(name).components]
    keys = dict.fromkeys(key for part in parts for key in COMPONENTS[type(part).__name__])
    papers = [PAPERS[key] for key in sorted(keys, key=lambda key: (key != page, key.startswith("rfc")))]
    if not papers:
        return []
    cited = "; ".join(f"{one.authors}, [{one.title}]({_link(one)}), {one.venue} {one.year}" for one in papers)
    return [f"From {cited}.", ""]


def _link(paper: Paper) -> str:
    """Return where to read a paper: its DOI's page, or a search for its title."""
    if paper.doi.startswith("arXiv:"):
        return f"https://arxiv.org/abs/{paper.doi.removeprefix('arXiv:')}"
    return (
        f"https://doi.org/{paper.doi}"
        if paper.doi
        else f"https://scholar.google.com/scholar?{urlencode({'q': paper.title})}"
    )


def _relatives(page: str) -> list[str]:
    titles = {name: title for name, (title, _) in pages().items()}
    return [
        f"- Other {family}: " + ", ".join(f"[{titles[one]}]({one}.md)" for one in members.split() if one != page) + "."
        for family, members in FAMILIES.items()
        if page in members.split()
    ]


def draw_schemes() -> None:
    """Draw the pictures that are not there yet."""
    from gallery import is_old  # beside this file, which a test imports from elsewhere

    PICTURES.mkdir(parents=True, exist_ok=True)
    network = rdmacc.star(9)
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", size="1MB")
    for page, (_, schemes) in pages().items():
        picture = PICTURES / f"{page}.png"
        if not is_old(picture, Path(__file__)):
            continue
        with rdmacc.show.style.style():
            ax = plt.figure(figsize=(7, 2.6)).add_subplot()
        for name in dict.fromkeys([schemes[0], "line-rate"]):
            result = rdmacc.simulate(network, work, name, probes=[rdmacc.probes.queue("s0", "h0")])
            result.plot.queues(ax, label=name)
        picture.write_bytes(png(ax.figure))
        plt.close(ax.figure)
