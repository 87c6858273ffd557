"""Hooks of MkDocs for mkdocs.yml.

The pages are written for a code host: they link to files of the repository. Here, links that leave the folder docs lead to the code
host; the course and the playground are linked where docs/site/build has made them.
"""

import os
import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def on_config(config):
    """Replaces patterns in the navigation by the pages that they match."""
    docs = Path(config.docs_dir)
    for section in config.nav:
        for name, pages in section.items():
            if isinstance(pages, list):
                section[name] = [
                    path for page in pages
                    for path in (sorted(p.relative_to(docs).as_posix() for p in docs.glob(page)) if "*" in page else [page])]
    return config


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(page.file.src_uri)
    markdown = markdown.replace("<!-- course -->", course())
    if os.environ.get("SAOT_PLAYGROUND"):
        markdown = markdown.replace(
            "<!-- playground -->", '<a href="playground/index.html">Try it in this page: the playground</a>')
    return LINK.sub(lambda found: found[1] + moved(found[2], folder, config) + found[3], markdown)


def moved(target, folder, config):
    """Returns the address of a link's target on the site."""
    if re.match(r"[a-z]+:", target):
        return target
    path = posixpath.normpath(posixpath.join("docs", folder, target))
    if path.startswith("docs/"):
        return target
    if not (ROOT / path).exists():
        raise ValueError(f"docs/{folder}: {target} leads nowhere")
    kind = "tree" if (ROOT / path).is_dir() else "blob"
    return f"{config.repo_url}/{kind}/main/{path}"


def course():
    """Returns the table of notebooks of notebooks/README.md, whose links lead to the pages where they were built."""
    rows = [row for row in (ROOT / "notebooks/README.md").read_text().splitlines() if row.startswith("| [")]
    table = ["| notebook | level | minutes | needs | shows |", "|---|---|---|---|---|"]
    for row in rows:
        link, *others = (cell.strip() for cell in row.strip("|").split("|")[:5])
        facts = " | ".join(others)
        name = re.search(r"\((\w+)\.ipynb\)", link)[1]
        title = re.search(r"\[([^]]*)\]", link)[1]
        if os.environ.get("SAOT_COURSE"):
            table.append(f'| <a href="course/{name}.html">{title}</a> | {facts} |')
        else:
            table.append(f"| [{title}](../notebooks/{name}.ipynb) | {facts} |")
    return "\n".join(table)
