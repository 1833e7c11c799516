# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part of docs/platforms.md that is about C libraries and compilers, made of each suite's last full run."""

BEGIN = "<!-- glibc: written by ./dev matrix -->"
END = "<!-- end -->"


def cell(outcomes):
    if not outcomes:
        return "not tried"
    wrong = [each for each in outcomes if not each["passed"]]
    return "no: " + "; ".join(each["detail"].replace("|", "\\|") for each in wrong) if wrong else "yes"


def of(result, prefix):
    return [each for each in result["trials"] if each["trial"].startswith(prefix)]


def builds(result, prefix):
    names = {}  # for each thing that is said, of which compilers it is
    for each in of(result, prefix):
        names.setdefault(cell([each]), []).append(each["trial"])
    tried = sum(names.values(), [])
    if others := [name for name in result.get("planned", ()) if name.startswith(prefix) and name not in tried]:
        names["not tried"] = others
    return "; ".join(f"{', '.join(of_them)}: {said}".replace("build ", "")
                     for said, of_them in names.items()) or "not tried"


def table(results):
    lines = ["| Debian | glibc | all objects are Holdfast's | nothing of glibc's is past it | conformance tests | "
             "builds with | BPF compiled by |", "| --- " * 7 + "|"]
    for result in sorted(results, key=lambda each: float(each["glibc"])):
        tests = of(result, "conformance")
        lines.append(" | ".join([
            f"| {result['suite']}", result["glibc"], cell(of(result, "objects")), cell(of(result, "exports")),
            tests[0]["detail"] if tests and tests[0]["passed"] else cell(tests),
            builds(result, "build gcc"), f"{builds(result, 'build clang')} |"]))
    return "\n".join(lines)


def with_section(text, results):
    """The page's text with the part between the marks written anew. ValueError: the page has no such part."""
    before, found, rest = text.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"the page has no part between '{BEGIN}' and '{END}'")
    return f"{before}{BEGIN}\n\n{table(results)}\n\n{END}{after}"


def write(path, results):
    path.write_text(with_section(path.read_text(), results))
